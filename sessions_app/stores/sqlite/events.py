"""The client's event log (docs/contract/formats.md#a4): sessions of which only events are left, and their rows made
anew from them.

Every event carries the whole new session, message or part, so the last of each says what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain.ids import parse_id
from sessions_app.domain.jsjson import loads
from sessions_app.domain.jsonedit import EditError, edit, raw_at
from sessions_app.domain.jsontext import NotJson
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import REMOVE, Edit
from sessions_app.domain.values import shown
from sessions_app.stores.base import StoreError
from sessions_app.stores.infocolumns import session_row

from .store import SqliteStore

_PAGE = 500
"""Events read by one statement."""
_TRIED = 20
"""The newest events about a session that are tried for its title."""
_WRAP = 1 << 36
"""Milliseconds after which the stamp of an id begins anew (docs/contract/formats.md#a8)."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A session without a row, whose events are there. ``rows``: messages and parts of it that are still stored;
    ``told``: its events are of a kind that tells what it held (those of the V2 line are not)."""

    id: str
    title: str
    events: int
    rows: int = 0
    told: bool = True


@dataclass(slots=True)
class Rebuilt:
    """A session's rows as its events say. ``unread``: events that say nothing here, with why."""

    rows: SessionRows
    unread: list[tuple[str, str]] = field(default_factory=list)


def gone_sessions(store: SqliteStore) -> tuple[Gone, ...]:
    """Sessions of which the store has only the events. The client's own removal takes the events too, so these were
    lost, unless an event says that the session was deleted."""
    if not (store.schema.has("event", "aggregate_id") and store.schema.has("event_sequence", "aggregate_id")):
        return ()
    known = set(store.session_ids())
    sql = "SELECT type, count(*) FROM event WHERE aggregate_id = ? GROUP BY type"
    found = []
    for (session_id,) in store.query("SELECT aggregate_id FROM event_sequence"):
        if not isinstance(session_id, str) or session_id in known:
            continue
        counts = dict(store.query(sql, (session_id,)))
        kinds = {_kind(name) for name in counts}
        row = _last_session(store, session_id) if "session.deleted" not in kinds else None
        if row is not None:
            title, told = shown(row.get("title"), 200), "message.updated" in kinds
            found.append(Gone(session_id, title, sum(counts.values()), _left(store, session_id), told))
    return tuple(found)


def rebuilt(store: SqliteStore, session_id: str) -> Rebuilt:
    """The rows of a session that is gone. Raises ``StoreError`` where its events do not tell a session."""
    work = _Work(session_id)
    for event_id, kind, data in _events(store, session_id):
        try:
            work.take(event_id, kind, data)
        except (EditError, NotJson, ValueError, KeyError, TypeError) as problem:
            work.unread.append((event_id, shown(str(problem))))
    if work.session.get("id") != session_id:
        raise StoreError("no-session", store.path, f"There is no session {session_id}, and no events that tell it.")
    messages = sorted(work.messages.values(), key=lambda row: (row["time_created"], row["id"]))
    kept = (part for part in work.parts.values() if part["message_id"] in work.messages)
    parts = sorted(kept, key=lambda row: (row["message_id"], row["id"]))
    return Rebuilt(SessionRows(work.session, messages, parts, projects=store.all_projects()), work.unread)


class _Work:
    """What is known after each event, in the order in which they happened."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.session: Row = {}
        self.messages: dict[str, Row] = {}
        self.parts: dict[str, Row] = {}
        self.unread: list[tuple[str, str]] = []

    def take(self, event_id: str, kind: str, data: str) -> None:
        if kind in ("session.created", "session.updated"):
            self._session(data)
        elif kind == "message.updated":
            self._message(event_id, data)
        elif kind == "message.part.updated":
            self._part(data)
        elif kind == "message.removed":
            gone = _object(data)["messageID"]
            self.messages.pop(gone, None)
            self.parts = {name: part for name, part in self.parts.items() if part["message_id"] != gone}
        elif kind == "message.part.removed":
            self.parts.pop(_object(data)["partID"], None)
        elif not kind.startswith("session."):
            raise ValueError(f"events of kind {kind} are not read")

    def _session(self, data: str) -> None:
        """The whole session, or (events of clients before 1.17) the members that changed."""
        info = _object(data)["info"]
        row = session_row(raw_at(data, ("info",)), 0)
        whole = "slug" in info and "version" in info
        given = {column: value for column, value in row.items() if value is not None or column in info}
        self.session = row if whole else {**self.session, **given}

    def _message(self, event_id: str, data: str) -> None:
        info = _object(data)["info"]
        created = info["time"]["created"]
        row = {"id": info["id"], "session_id": self.session_id, "time_created": created}
        text = edit(raw_at(data, ("info",)), [Edit(("id",), REMOVE), Edit(("sessionID",), REMOVE)])
        self.messages[row["id"]] = {**row, "time_updated": _written(event_id, created), "data": text}

    def _part(self, data: str) -> None:
        event = _object(data)
        part, time = event["part"], event["time"]
        before = self.parts.get(part["id"], {"time_created": time})
        row = {"id": part["id"], "message_id": part["messageID"], "session_id": self.session_id}
        own = [Edit((name,), REMOVE) for name in ("id", "sessionID", "messageID")]
        text = edit(raw_at(data, ("part",)), own)
        self.parts[row["id"]] = {**row, "time_created": before["time_created"], "time_updated": time, "data": text}


def _object(data: str) -> dict[str, Any]:
    value = loads(data)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _written(event_id: str, created: Any) -> Any:
    """When an event was made, by its id: that is when the row was written."""
    stamp = parse_id(event_id)
    if stamp is None or not isinstance(created, int):
        return created
    return created + ((stamp.stamp >> 12) - created) % _WRAP


def _kind(name: Any) -> str:
    """A type of event without its version: ``message.updated.1``."""
    kind, _, version = str(name).rpartition(".")
    return kind if version.isdigit() else str(name)


def _events(store: SqliteStore, session_id: str) -> Iterator[tuple[str, str, str]]:
    """Id, kind and data of a session's events in order."""
    sql = f"SELECT seq, id, type, data FROM event WHERE aggregate_id = ? AND seq > ? ORDER BY seq LIMIT {_PAGE}"
    after = -1
    while found := store.query(sql, (session_id, after)):
        yield from ((str(event_id), _kind(name), str(data)) for _, event_id, name, data in found)
        after = found[-1][0]


def _last_session(store: SqliteStore, session_id: str) -> Row | None:
    """The session's row as the last event about it says."""
    sql = (
        "SELECT data FROM event WHERE aggregate_id = ? AND type GLOB 'session.[cu]*ated.*' ORDER BY seq DESC"
        f" LIMIT {_TRIED}"
    )
    for (data,) in store.query(sql, (session_id,)):
        try:
            row = session_row(raw_at(data, ("info",)), 0)
        except (EditError, NotJson, TypeError, AttributeError):
            continue
        if row.get("id") == session_id:
            return row
    return None


def _left(store: SqliteStore, session_id: str) -> int:
    """Messages and parts of a session that are still stored, and belong nowhere."""
    tables = [name for name in ("message", "part") if store.schema.has(name, "session_id")]
    return sum(
        int(store.query(f"SELECT count(*) FROM {name} WHERE session_id = ?", (session_id,))[0][0]) for name in tables
    )
