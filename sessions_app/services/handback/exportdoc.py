"""A session as the document that ``opencode import`` takes (docs/contract/formats.md#a5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

from sessions_app.domain import dialects, jsjson
from sessions_app.domain.handback.freshids import fresh_names, renamed_by
from sessions_app.domain.handback.importable import message_refusal, part_refusal
from sessions_app.domain.handback.newline import NewLine
from sessions_app.domain.jsontext import with_members
from sessions_app.domain.model import V1, Message, Row, SessionRows
from sessions_app.stores.infocolumns import info_text

NEW_LINE_NOTE: Final = (
    "The shapes of 2.x were read in its source, and no 2.x client was there to try this file with: keep the session"
    " that it was made of."
)
_SOME: Final = 500
"""Messages that are in memory at once, renamed and decoded."""


class NotExportable(Exception):
    """The session cannot be written in the client's export form; the message says why and what can be done instead."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that the client's import would stop at, and so is not in the document."""

    table: str
    id: str
    reason: str


class ExportDocument:
    """One session's export, made of ``rows`` a few messages at a time. ``names``: the ids that it gets, None = its
    own."""

    def __init__(self, rows: SessionRows, names: Mapping[str, str] | None) -> None:
        self.stored_id = rows.id
        self.session_id = rows.id if names is None else names[rows.id]
        self._rows = rows
        self._names = names
        self._left: list[LeftOut] | None = None

    @property
    def text(self) -> str:
        """The whole document."""
        return "".join(self.pieces())

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The rows that are not in it. Known at once where it was written before."""
        if self._left is None:
            for _ in self.pieces():
                pass
        return tuple(self._left or ())

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever imports it has to know, a sentence each."""
        return tuple(_notes(self._rows, self._renamed(()), self._names is not None, self.left_out))

    def pieces(self) -> Iterator[str]:
        """The document, a message at a time."""
        left: list[LeftOut] = []
        yield f'{{"info":{info_text(session_needs(self._renamed(()).session))},"messages":['
        between = ""
        for some in self._some():
            rows = self._renamed(some)
            names = dict(zip((row["id"] for row in rows.messages), (row["id"] for row in some), strict=True))
            for message in dialects.decode(rows).history(V1):
                if why := message_refusal(message):
                    left.append(LeftOut("message", names[message.id], why))
                else:
                    yield between + _message(message, rows.id, left)
                    between = ","
        self._left = left
        yield "]}"

    def _some(self) -> Iterator[Sequence[Row]]:
        """Messages in the order of the document, some at a time; all at once where their order is inside them."""
        messages = self._rows.messages
        if not all(isinstance(row.get("time_created"), (int, float)) for row in messages):
            yield messages
            return
        # Fresh ids ascend in the order in which the rows come.
        key = itemgetter("time_created") if self._names is not None else itemgetter("time_created", "id")
        ordered = sorted(messages, key=key)
        for start in range(0, len(ordered), _SOME):
            yield ordered[start : start + _SOME]

    def _renamed(self, messages: Sequence[Row]) -> SessionRows:
        """The session with these messages and their parts, under the ids that it gets."""
        parts = [part for row in messages for part in self._parts.get(row.get("id"), ())]
        rows = SessionRows(self._rows.session, list(messages), parts)
        return rows if self._names is None else renamed_by(self._names, rows)

    @cached_property
    def _parts(self) -> dict[object, list[Row]]:
        found: dict[object, list[Row]] = {}
        for part in self._rows.parts:
            found.setdefault(part.get("message_id"), []).append(part)
        return found


def _message(message: Message, session_id: str, left: list[LeftOut]) -> str:
    parts = []
    for part in message.parts:
        if why := part_refusal(part):
            left.append(LeftOut("part", part.id, why))
        else:
            ids = {"id": part.id, "sessionID": session_id, "messageID": message.id}
            parts.append(with_members(part.raw, ids, front=False))
    info = with_members(message.raw, {"id": message.id, "sessionID": session_id}, front=False)
    return f'{{"info":{info},"parts":[{",".join(parts)}]}}'


class NewLineDocument(ExportDocument):
    """The same, as the import of 2.x takes it."""

    def pieces(self) -> Iterator[str]:
        rows = self._renamed(self._rows.messages)
        stored = {new: old for old, new in (self._names or {}).items()}
        line = NewLine(dialects.decode(rows))
        yield f'{{"info":{info_text(session_needs(rows.session))},"messages":['
        between = ""
        for message in line.messages():
            yield between + jsjson.dumps({"id": message.id, "type": message.type, **message.data})
            between = ","
        self._left = [LeftOut(one.table, stored.get(one.id, one.id), one.reason) for one in line.left]
        yield "]}"

    @property
    def notes(self) -> tuple[str, ...]:
        return (NEW_LINE_NOTE, *super().notes)


def export_documents(
    sessions: Sequence[SessionRows], *, fresh: bool = True, new_line: bool = False
) -> tuple[ExportDocument, ...]:
    """A document a session, each to be imported by itself, parents first. ``new_line``: by 2.x.

    ``fresh``: under new ids with consistent references, so that it is imported beside the original; else under its own
    ids, which the client only takes where the session has been deleted before. Raises ``NotExportable``.
    """
    for rows in sessions:
        if not rows.messages:
            raise NotExportable(_why_not(rows))
        if new_line and rows.session.get("revert"):
            raise NotExportable(f"Session {rows.id} has a revert that is not finished: finish it in the client first.")
    names = fresh_names(sessions) if fresh else None
    made = NewLineDocument if new_line else ExportDocument
    return tuple(made(rows, names) for rows in sessions)


def _why_not(rows: SessionRows) -> str:
    if rows.session_message:
        return (
            f"Session {rows.id} is stored in V2 rows; the client's export holds messages of 1.x only. "
            "Hand it back as a database or a patch."
        )
    return f"Session {rows.id} has no messages, so there is nothing to export."


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
