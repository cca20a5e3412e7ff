"""Sessions of a storage tree, an export or an older database brought into the database that the client reads now, and
sessions whose row is gone made anew from their events (docs/handing-back.md#hidden-sessions).

Client 1.18.33 does not migrate a tree (docs/contract/formats.md#a2). The rows are inserted as they are, under a guard,
with a restore point, so that ``undo`` takes them out again. A store of a 2.x client gets no rows of 1.x: its own import
is the way in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sessions_app.domain import dialects, planning
from sessions_app.domain.handback.importable import message_refusal, part_refusal
from sessions_app.domain.handback.relink import place_of
from sessions_app.domain.model import V1, Row, SessionRows
from sessions_app.domain.patience import paced
from sessions_app.domain.repair import OperationError, RowChange
from sessions_app.domain.rules.hidden import GLOBAL
from sessions_app.domain.wish import Wish
from sessions_app.services.repair.write import store_write
from sessions_app.stores.base import About, Store, StoreError
from sessions_app.stores.changes import GuardRefused
from sessions_app.stores.sqlite.events import Gone, gone_sessions, rebuilt
from sessions_app.stores.sqlite.schema import Table
from sessions_app.stores.sqlite.store import SqliteStore

from .exportdoc import LeftOut, session_needs

_OPENS = Wish(rules=("undecodable-row",))
"""What must be repaired for the client to open it; everything else comes along as it is, and is repaired there."""


@dataclass(slots=True)
class Adopted:
    """What becomes of one session. ``outcome``: would-adopt, adopted, there (the target has it), empty, refused,
    unreadable."""

    id: str
    title: str
    outcome: str
    why: str = ""
    messages: int = 0
    parts: int = 0
    left_out: tuple[LeftOut, ...] = ()
    repair: str = ""
    changes: tuple[RowChange, ...] = field(default=(), repr=False)

    def document(self) -> dict[str, Any]:
        left = [{"table": one.table, "id": one.id, "reason": one.reason} for one in self.left_out]
        counts = {"messages": self.messages, "parts": self.parts}
        return {
            "id": self.id,
            "title": self.title,
            "outcome": self.outcome,
            "why": self.why,
            **counts,
            "left_out": left,
            "repair": self.repair,
        }


def adopt(
    *,
    source: Store,
    target: Store,
    session_ids: Sequence[str] = (),
    actor: str,
    now: datetime,
    dry_run: bool = False,
) -> list[Adopted]:
    """Bring sessions (none named = all) of ``source`` into ``target``, one transaction each, parents first.

    Where both are one database, and for sessions that are named, those are meant of which only the events are left.
    Fields that the client asks for now are filled in from the session; everything else comes as it is. Raises
    ``StoreError`` where the target takes no rows.
    """
    database = _writable(target)
    known = {str(row["id"]) for row in target.sessions()}
    projects = {str(project_id) for (project_id,) in database.query("SELECT id FROM project")}
    outcomes: list[Adopted] = []
    itself = same_file(source, target)
    about = About(actor=actor, reason="made anew from its events" if itself else f"brought in from {source.path}")
    for rows, unread in paced(_wanted(source, session_ids, outcomes, itself=itself)):
        adopted = _planned(rows, database, known, projects)
        adopted.left_out += unread
        outcomes.append(adopted)
        if adopted.outcome != "would-adopt":
            continue
        known.add(adopted.id)
        projects |= {str(change.key["id"]) for change in adopted.changes if change.table == "project"}
        if dry_run:
            continue
        try:
            written = store_write(store=target, changes=adopted.changes, about=about, now=now)
        except (GuardRefused, StoreError) as refusal:
            adopted.outcome, adopted.why = "refused", str(refusal)
        else:
            adopted.outcome, adopted.repair = "adopted", written.repair_id
    return outcomes


def _writable(target: Store) -> SqliteStore:
    if not isinstance(target, SqliteStore):
        raise StoreError(
            "read-only",
            target.path,
            "Sessions can only be brought into a database.",
            "Name the client's opencode.db.",
        )
    if target.schema.has("session_v2") or not (
        target.schema.has("message", "data") and target.schema.has("part", "data")
    ):
        raise StoreError(
            "schema",
            target.path,
            "This database is of a 2.x client, which keeps sessions in rows of another kind; new rows without its"
            " events would stop its upgrades.",
            "Export the session and run opencode import with that client.",
        )
    return target


def same_file(source: Store, target: Store) -> bool:
    """Both are one database."""
    try:
        return source.path.samefile(target.path)
    except OSError:
        return False


type _Wanted = tuple[SessionRows, tuple[LeftOut, ...]]
"""A session's rows, and the events of it that say nothing."""


def _wanted(source: Store, session_ids: Sequence[str], outcomes: list[Adopted], *, itself: bool) -> Iterator[_Wanted]:
    listed = {str(row["id"]): row for row in source.sessions()}
    lost = isinstance(source, SqliteStore) and (itself or any(one not in listed for one in session_ids))
    gone = {one.id: one for one in gone_sessions(source)} if lost and isinstance(source, SqliteStore) else {}
    missing = [session_id for session_id in session_ids if session_id not in listed and session_id not in gone]
    if missing:
        raise StoreError("no-session", source.path, f"There is no session {missing[0]}.")
    chosen = list(session_ids) or list(gone if itself else listed)
    for session_id in sorted(chosen, key=lambda one: bool(listed.get(one, {}).get("parent_id"))):
        title = gone[session_id].title if session_id in gone else str(listed[session_id].get("title") or "")
        try:
            if session_id in gone:
                yield from _from_events(source, gone[session_id], outcomes)
            else:
                yield source.read(session_id), ()
        except StoreError as problem:
            outcomes.append(Adopted(session_id, title, "unreadable", problem.words))


def _from_events(source: Store, gone: Gone, outcomes: list[Adopted]) -> Iterator[_Wanted]:
    assert isinstance(source, SqliteStore)
    if gone.rows:
        words = (
            f"{gone.rows} of its messages and parts are still stored and belong nowhere. Take them out first (on the"
            " store's page, or sources/{number}/tidy; a restore point keeps them): its events hold them too."
        )
        outcomes.append(Adopted(gone.id, gone.title, "refused", words))
        return
    if not gone.told:
        words = "Its events are those of the V2 line, from which Suture makes no rows."
        outcomes.append(Adopted(gone.id, gone.title, "refused", words))
        return
    made = rebuilt(source, gone.id)
    yield made.rows, tuple(LeftOut("event", event, why) for event, why in made.unread)


def _planned(rows: SessionRows, target: SqliteStore, known: set[str], projects: set[str]) -> Adopted:
    title = str(rows.session.get("title") or "")
    if rows.id in known:
        return Adopted(rows.id, title, "there", "The database has a session of this id; nothing is written over it.")
    if not rows.messages:
        return Adopted(rows.id, title, "empty", "It has no messages of 1.x.")
    decoded = dialects.decode(rows)
    whole = dialects.apply(rows, planning.plan(decoded, wish=_OPENS).changes)
    decoded = dialects.decode(whole)
    left: list[LeftOut] = []
    messages, parts = [], []
    for message in decoded.history(V1):
        if why := message_refusal(message):
            left.append(LeftOut("message", message.id, why))
            continue
        messages.append(message.row)
        for part in message.parts:
            if why := part_refusal(part):
                left.append(LeftOut("part", part.id, why))
            elif part.row is not None:
                parts.append(part.row)
    kept = replace(whole, messages=messages, parts=parts)
    try:
        changes = tuple(_inserts(kept, target, projects))
    except OperationError as problem:
        return Adopted(rows.id, title, "refused", str(problem))
    return Adopted(rows.id, title, "would-adopt", "", len(messages), len(parts), tuple(left), changes=changes)


def _inserts(rows: SessionRows, target: SqliteStore, projects: set[str]) -> Iterator[RowChange]:
    """The session's rows as they are inserted, filed under the project that the client computes for its directory."""
    table = target.schema.tables["project"]
    theirs = [dict(zip(table.columns, values, strict=True)) for values in target.query(table.select())]
    session = session_needs(rows.session)
    directory = str(session["directory"])
    project_id, path = place_of(directory, theirs) if directory.startswith("/") else (GLOBAL, None)
    if project_id == GLOBAL and session["project_id"] != GLOBAL:
        # The client does not know this project yet: it comes along, under the id that the old client gave it.
        own = next((row for row in rows.projects if row.get("id") == session["project_id"]), None)
        own = own or {"worktree": session["directory"]}
        project_id = str(session["project_id"])
        if project_id not in projects:
            yield _insert(table, {**_times(session), "sandboxes": "[]", **_given(own), "id": project_id})
        path = place_of(directory, [{**own, "id": project_id}])[1]
    elif project_id not in projects:
        yield _insert(table, {**_times(session), "sandboxes": "[]", "id": GLOBAL, "worktree": "/"})
    real = target.schema.real("session")
    assert real is not None
    yield _insert(real, {**session, "project_id": project_id, "path": path})
    for name, found in (("message", rows.messages), ("part", rows.parts)):
        for row in found:
            yield _insert(target.schema.tables[name], {**row, "session_id": rows.id})


def _times(session: Row) -> Row:
    return {"time_created": session["time_created"], "time_updated": session["time_updated"]}


def _given(row: Row) -> Row:
    return {column: value for column, value in row.items() if value is not None}


def _insert(table: Table, row: Mapping[str, Any]) -> RowChange:
    """The row in the columns of the target; columns that it lacks get the table's defaults."""
    after = {
        column: row.get(column) if row.get(column) is not None else _default(table.defaults.get(column))
        for column in table.columns
    }
    return RowChange(table.name if table.name != "session_v2" else "session", {"id": after["id"]}, None, after)


def _default(text: str | None) -> Any:
    """A literal default as SQLite's schema writes it; NULL for none and for expressions."""
    if text is None:
        return None
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return int(text)
    except ValueError:
        return None
