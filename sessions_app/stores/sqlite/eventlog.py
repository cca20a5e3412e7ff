"""Which events of the client's log later ones have superseded (docs/contract/formats.md#a4, #c5).

Every event of a message or a part carries all of it, so of each only the last one says what no other does. A session's
log is touched only where that last word is what its rows say; else it is left whole, with the reason.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sessions_app.domain.ids import WRAP, parse_id
from sessions_app.domain.jsjson import loads

from .schema import Schema

type Recent = Callable[[str], bool]
"""Whether an event, by its id, is so young that it is kept in any case."""

type _Last = dict[bytes, tuple[int, int, bool, bytes | None]]
"""By the id of a message or part the last event of it: rowid, bytes, whether it says that it was removed, and its text
where that is held."""

_DAY = 86_400_000
_HELD = 64 * 1024**2
"""Bytes of one session's events that are held at once; what is beyond is read twice."""
_NEEDED = ("id", "aggregate_id", "seq", "type", "data")
_MEMBERS = {
    b"message.updated.1": ("message", "info", re.compile(rb'\{"sessionID":"[^"\\]*","info":\{"id":"([^"\\]*)"')),
    b"message.part.updated.1": ("part", "part", re.compile(rb'\{"sessionID":"[^"\\]*","part":\{"id":"([^"\\]*)"')),
}
"""Kinds of events: the table of what they tell, the member that holds it, and how clients begin to write it."""
_REMOVED = {b"message.removed.1": ("message", "messageID"), b"message.part.removed.1": ("part", "partID")}
_SESSION = (b"session.created.1", b"session.updated.1")
_OWN = {"message": ("id", "sessionID"), "part": ("id", "sessionID", "messageID")}
"""Members of an event's message or part that are columns of its row."""
_ROWS = {
    "message": "SELECT id, session_id, data FROM {}.message WHERE session_id = ?",
    "part": "SELECT id, session_id, data, message_id FROM {}.part WHERE session_id = ?",
}
_HEADS = {
    "message": b'{"sessionID":"%b","info":{"id":"%b","sessionID":"%b",',
    "part": b'{"sessionID":"%b","part":{"id":"%b","sessionID":"%b","messageID":"%b",',
}
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(slots=True)
class Log:
    """The events of one session: how many and how many bytes. ``superseded``: rowids of those that may go, ``freed``
    bytes in all; ``strange``: bytes of events of kinds that are not known here (those of the V2 line), which stay and
    supersede nothing; ``whole``: why none may, "" where nothing speaks against it."""

    session_id: str
    events: int = 0
    size: int = 0
    superseded: list[int] = field(default_factory=list)
    freed: int = 0
    strange: int = 0
    whole: str = ""


def recent(now_ms: int, days: float) -> Recent:
    """Events of the last ``days``, by the time in their ids; what no client's id tells counts as recent."""

    def check(event_id: str) -> bool:
        found = parse_id(event_id)
        if found is None:
            return True
        age = (now_ms - (found.stamp >> 12)) % WRAP
        return age < days * _DAY or age > WRAP - _DAY  # a clock that was ahead

    return check


def readable(schema: Schema) -> bool:
    """The log has the shape in which the V1 line writes it."""
    return (
        all(schema.has("event", column) for column in _NEEDED)
        and schema.tables["event"].has_rowid
        and schema.has("event_sequence", "seq")
        and all(schema.has(name, "data") for name in ("message", "part"))
    )


def logged(connection: sqlite3.Connection, at: str) -> list[str]:
    """Ids of the sessions that may have a log, in the database known as ``at``; the connection gives text as bytes."""
    return [_text(found) for (found,) in connection.execute(f"SELECT aggregate_id FROM {at}.event_sequence")]


def session_log(connection: sqlite3.Connection, at: str, schema: Schema, session_id: str, young: Recent | None) -> Log:
    """The log of one session. Raises ``sqlite3.Error``."""
    reading = _Reading(connection, at, Log(session_id), young)
    reading.log.whole = _guarded(connection, at, schema, session_id)
    try:
        reading.read()
        if not reading.log.whole and reading.gone:
            reading.compare()
    except (ValueError, KeyError, TypeError, AttributeError):  # no JSON, or not of this shape
        reading.log.whole = "it has an event that cannot be read"
    if not reading.log.whole:
        reading.log.superseded, reading.log.freed = list(reading.gone), sum(reading.gone.values())
    return reading.log


def _guarded(connection: sqlite3.Connection, at: str, schema: Schema, session_id: str) -> str:
    """What speaks against touching a session's log, apart from what it says."""
    owner = "owner_id" if schema.has("event_sequence", "owner_id") else "NULL"
    numbers = connection.execute(
        f"SELECT seq, {owner}, (SELECT max(seq) FROM {at}.event WHERE aggregate_id = ?1)"
        f" FROM {at}.event_sequence WHERE aggregate_id = ?1",
        (session_id,),
    ).fetchone()
    if not isinstance(numbers[0], int) or numbers[0] < (numbers[2] or 0):
        return "its events are numbered beyond event_sequence"
    if numbers[1] is not None:
        return "its events are synchronised (owner_id)"
    for name in schema.session_tables:
        workspace = "workspace_id" if schema.has(name, "workspace_id") else "NULL"
        found = connection.execute(f"SELECT {workspace} FROM {at}.{name} WHERE id = ?", (session_id,)).fetchone()
        if found is not None:
            return "" if found[0] is None else "it belongs to a workspace (workspace_id)"
    return "the session itself is gone; its events are what is left of it"


class _Reading:
    """One session's events in their order."""

    def __init__(self, connection: sqlite3.Connection, at: str, log: Log, young: Recent | None) -> None:
        self.connection, self.at, self.log, self.young = connection, at, log, young
        self.last: dict[str, _Last] = {"message": {}, "part": {}}
        self.session: list[tuple[int, int]] = []
        """Updates of the session since it was last told whole: rowid and bytes."""
        self.gone: dict[int, int] = {}
        """Superseded events, rowid -> bytes."""
        self.held = 0

    def read(self) -> None:
        sql = f"SELECT rowid, id, type, data FROM {self.at}.event WHERE aggregate_id = ? ORDER BY seq"
        recent = []
        log, young = self.log, self.young
        for rowid, event_id, kind, data in self.connection.execute(sql, (log.session_id,)):
            log.events += 1
            log.size += len(data)
            if young is not None and young(_text(event_id)):
                recent.append(rowid)
            if kind in _MEMBERS:
                table, member, start = _MEMBERS[kind]
                found = start.match(data)
                self._supersede(table, found[1] if found else _value(data)[member]["id"].encode(), rowid, data)
            else:
                self._take(rowid, kind, data)
        for rowid in recent:
            self.gone.pop(rowid, None)

    def _take(self, rowid: int, kind: bytes, data: bytes) -> None:
        if kind in _REMOVED:
            table, member = _REMOVED[kind]
            self._supersede(table, _value(data)[member].encode(), rowid, data, removed=True)
        elif kind in _SESSION:
            info = _members(_members(data)["info"])
            if "slug" in info and "version" in info:  # before 1.17 only the members that changed
                self.gone.update(self.session)
                self.session = []
            if kind == b"session.updated.1":
                self.session.append((rowid, len(data)))
        else:
            self.log.strange += len(data)

    def _supersede(self, table: str, row_id: bytes, rowid: int, data: bytes, *, removed: bool = False) -> None:
        last = self.last[table]
        size = len(data)
        if (before := last.get(row_id)) is not None:
            self.gone[before[0]] = before[1]
            self.held -= 0 if before[3] is None else before[1]
        if self.held + size <= _HELD:
            self.held += size
            last[row_id] = rowid, size, removed, data
        else:
            last[row_id] = rowid, size, removed, None

    def _data(self, rowid: int, data: bytes | None) -> bytes:
        if data is None:
            sql = f"SELECT data FROM {self.at}.event WHERE rowid = ?"
            data = self.connection.execute(sql, (rowid,)).fetchone()[0]
        return data

    def compare(self) -> None:
        """The last event of each thing says what its row says, or the log is left whole."""
        differ = 0
        for table, rows in _ROWS.items():
            left = dict(self.last[table])
            for row_id, *columns in self.connection.execute(rows.format(self.at), (self.log.session_id,)):
                last = left.pop(row_id, None)
                if last is not None:
                    differ += last[2] or not _same(self._data(last[0], last[3]), table, row_id, *columns)
            differ += sum(not (last[2] or self._went(self._data(last[0], last[3]))) for last in left.values())
        if differ:
            rows_say = "row says" if differ == 1 else "rows say"
            self.log.whole = f"{differ:,} {rows_say} something else than the last event of it"

    def _went(self, event: bytes) -> bool:
        """A part that no event removed is gone since its message was removed."""
        part = _value(event).get("part") or {}
        message = self.last["message"].get(str(part.get("messageID")).encode())
        return message is not None and message[2]


def _same(event: bytes, table: str, row_id: bytes, session: bytes, data: bytes, message: bytes = b"") -> bool:
    """The event tells the row. Of most the very text of the row is in it, else what they say is compared."""
    head = _HEADS[table] % ((session, row_id, session, message) if message else (session, row_id, session))
    body = _body(event, head, table)
    if body == data:
        return True
    try:
        if body is not None:
            told = _members(body)
        else:
            told = _members(_members(event)["part" if table == "part" else "info"])
            own = [bytes(told.pop(name, b"")) for name in _OWN[table]]
            if own != [b'"%b"' % column for column in (row_id, session, message)[: len(own)]]:
                return False
        row = _members(data)
    except msgspec.DecodeError:  # half a pair of surrogates, or no JSON
        told = _value(event)["part" if table == "part" else "info"]
        return _readable(data) and {name: told[name] for name in told if name not in _OWN[table]} == _value(data)
    return _equal(told, row) or _equal(told, _without_raw(row))


def _body(event: bytes, head: bytes, table: str) -> bytes | None:
    """What an event says beside the ids in its ``head``, where it is written as clients write it."""
    if not event.startswith(head):
        return None
    end = len(event) - 1
    if table == "part":
        end = event.rfind(b',"time":')
        if not event[end + 8 : -1].isdigit():
            return None
    return b"{" + event[len(head) : end]


def _readable(text: bytes) -> bool:
    try:
        _value(text)
    except ValueError:
        return False
    return True


def _equal(one: dict[str, msgspec.Raw], other: dict[str, msgspec.Raw]) -> bool:
    """Two objects say the same. What is written alike is not looked into: most of it is long texts."""
    return one.keys() == other.keys() and all(
        value == other[name] or _alike(bytes(value), bytes(other[name])) for name, value in one.items()
    )


def _alike(one: bytes, other: bytes) -> bool:
    if one[:1] == b"{" == other[:1]:
        return _equal(_members(one), _members(other))
    return bool(_value(one) == _value(other))


def _without_raw(row: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """The row of a call that was aborted before its arguments came keeps an empty ``raw``, which its event leaves
    out."""
    if bytes(row.get("state", b""))[:1] != b"{":
        return row
    state = _members(row["state"])
    if bytes(state.get("raw", b"")) == b'""':
        del state["raw"]
    return row | {"state": msgspec.Raw(msgspec.json.encode(state))}


def _value(text: bytes) -> Any:
    """Raises ``ValueError``."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return loads(text)  # half a pair of surrogates: slower


def _text(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
