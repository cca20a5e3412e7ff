"""A session as the document that ``opencode import`` takes (docs/contract/formats.md#a5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sessions_app.domain import dialects
from sessions_app.domain.handback.freshids import renamed
from sessions_app.domain.handback.importable import message_refusal, part_refusal
from sessions_app.domain.jsontext import with_members
from sessions_app.domain.model import V1, Row, SessionRows
from sessions_app.stores.infocolumns import info_text


class NotExportable(Exception):
    """The session cannot be written in the client's export form; the message says why and what can be done instead."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that the client's import would stop at, and so is not in the document."""

    table: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """One session's export. ``notes`` is what whoever imports it has to know, a sentence each."""

    session_id: str
    stored_id: str
    text: str
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = field(default=())


def export_documents(sessions: Sequence[SessionRows], *, fresh: bool = True) -> tuple[ExportDocument, ...]:
    """A document a session, each to be imported by itself, parents first.

    ``fresh``: under new ids with consistent references, so that it is imported beside the original; else under its own
    ids, which the client only takes where the session has been deleted before. Raises ``NotExportable``.
    """
    for rows in sessions:
        if not rows.messages:
            raise NotExportable(_why_not(rows))
    named = renamed(sessions)[0] if fresh else list(sessions)
    return tuple(_document(old, new, fresh) for old, new in zip(sessions, named, strict=True))


def _why_not(rows: SessionRows) -> str:
    if rows.session_message:
        return (
            f"Session {rows.id} is stored in V2 rows; the client's export holds messages of 1.x only. "
            "Hand it back as a database or a patch."
        )
    return f"Session {rows.id} has no messages, so there is nothing to export."


def _document(old: SessionRows, rows: SessionRows, fresh: bool) -> ExportDocument:
    left: list[LeftOut] = []
    decoded = dialects.decode(rows)
    names = dict(zip((row["id"] for row in rows.messages), (row["id"] for row in old.messages), strict=True))
    messages = []
    for message in decoded.history(V1):
        why = message_refusal(message)
        if why:
            left.append(LeftOut("message", names[message.id], why))
            continue
        parts = []
        for part in message.parts:
            why = part_refusal(part)
            if why:
                left.append(LeftOut("part", part.id, why))
                continue
            ids = {"id": part.id, "sessionID": rows.id, "messageID": message.id}
            parts.append(with_members(part.raw, ids, front=False))
        info = with_members(message.raw, {"id": message.id, "sessionID": rows.id}, front=False)
        messages.append(f'{{"info":{info},"parts":[{",".join(parts)}]}}')
    text = f'{{"info":{info_text(session_needs(rows.session))},"messages":[{",".join(messages)}]}}'
    return ExportDocument(rows.id, old.id, text, tuple(left), tuple(_notes(old, rows, fresh, left)))


def session_needs(row: Row) -> Row:
    """With the columns that the client's schema asks for and that sessions of older versions lack."""
    time = row.get("time_created") or 0
    needed = {
        "slug": "imported-session",
        "project_id": "global",
        "directory": "/",
        "title": "Imported session",
        "version": "1.0.0",
        "time_created": time,
        "time_updated": row.get("time_updated") or time,
    }
    return {**row, **{column: value for column, value in needed.items() if row.get(column) is None}}


def _notes(old: SessionRows, rows: SessionRows, fresh: bool, left: Sequence[LeftOut]) -> list[str]:
    notes = []
    if fresh:
        notes.append(
            f"Imported as a new session {rows.id} beside {old.id}, which stays as it is; delete that one when all is"
            " well."
        )
    else:
        notes.append(
            f"Delete the session first (opencode session delete {old.id}; this also deletes its subagent sessions): the"
            " client leaves sessions that it has as they are, without a word."
        )
    if rows.session.get("parent_id"):
        notes.append(
            f"It is a subagent's session: it is listed below {rows.session['parent_id']}, which has to be in the store"
            " that it is imported to."
        )
    if old.session_message:
        notes.append("Its V2 rows are not in the export, which holds messages of 1.x only.")
    notes.append("Run opencode import in the project's folder: the session gets that folder as its directory.")
    if left:
        notes.append(f"{len(left)} rows that the client's import refuses were left out; they are named in the report.")
    return notes
