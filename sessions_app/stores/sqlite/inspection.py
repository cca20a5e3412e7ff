"""Facts about a whole database as cheap queries: they read indexes, not rows, and stop at caps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .connection import quoted
from .store import SqliteStore

ORPHAN_CAP = 1_000
"""Orphans are listed up to this many of each kind."""


@dataclass(frozen=True, slots=True)
class Orphans:
    """Rows that belong nowhere (docs/contract/rules.md#2.29): ids, each list up to ``ORPHAN_CAP``."""

    parts: tuple[str, ...] = ()
    """Parts whose message is missing."""
    messages: tuple[str, ...] = ()
    """Messages (V1) whose session is missing."""
    session_messages: tuple[str, ...] = ()
    sessions_without_project: tuple[str, ...] = ()
    todo_sessions: tuple[str, ...] = ()
    """Ids of missing sessions that todo rows name."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a database file is made of, in bytes. ``events``: the client's event log, whose last entries the other
    tables hold (docs/contract/formats.md#c5), estimated from a sample where ``sampled``; ``free``: pages that hold
    nothing, which only VACUUM gives back."""

    file: int
    events: int
    event_rows: int
    free: int
    sampled: bool = False


def free_bytes(store: SqliteStore) -> int:
    """Bytes of pages that hold nothing."""
    (page,), (free,) = (store.query(f"PRAGMA {name}")[0] for name in ("page_size", "freelist_count"))
    return int(page) * int(free)


_MEASURED = 256 * 1024**2
"""The largest file whose event log is read to the end to be measured."""
_SAMPLE = 2_000
"""Events that are looked at in a larger one."""


def sizes(store: SqliteStore) -> Sizes:
    """The sizes, in a second or so for any file."""
    with store.snapshot():
        (page,), (pages,) = (store.query(f"PRAGMA {name}")[0] for name in ("page_size", "page_count"))
        free = free_bytes(store)
        rows = _count(store, "event")
        sampled = rows > _SAMPLE and page * pages > _MEASURED
        each = "SELECT length(CAST(data AS BLOB)) AS size FROM event"
        if not rows or not store.schema.has("event", "data"):
            held = 0
        elif sampled:
            held = rows * _average(store, each)
        else:
            held = int(store.query(f"SELECT coalesce(sum(size), 0) FROM ({each})")[0][0])
    return Sizes(page * pages, held, rows, free, sampled)


def _average(store: SqliteStore, each: str) -> int:
    """The size of events at places spread evenly over the log."""
    first, last = store.query("SELECT min(rowid), max(rowid) FROM event")[0]
    step = max((last - first) // _SAMPLE, 1)
    places = ",".join(str(first + number * step) for number in range(_SAMPLE))
    found = [size for (size,) in store.query(f"{each} WHERE rowid IN ({places})")]
    return sum(found) // len(found) if found else 0


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """``level``: oldest client version with these tables. ``migration``: the ``phase`` text of 2.x's V1 importer, ""
    where there is none."""

    bytes: int
    wal_bytes: int
    journal_mode: str
    level: str
    sessions: int
    messages: int
    parts: int
    session_messages: int
    passed_over: tuple[str, ...]
    triggers: tuple[str, ...]
    migration: str
    orphans: Orphans = field(default_factory=Orphans)


def facts(store: SqliteStore) -> DatabaseFacts:
    schema = store.schema
    with store.snapshot():
        return DatabaseFacts(
            bytes=_size(store.path),
            wal_bytes=_size(Path(f"{store.path}-wal")),
            journal_mode=str(store.query("PRAGMA journal_mode")[0][0]),
            level=schema.level,
            sessions=sum(_count(store, name) for name in schema.session_tables),
            messages=_count(store, "message"),
            parts=_count(store, "part"),
            session_messages=_count(store, "session_message"),
            passed_over=schema.passed_over,
            triggers=tuple(name for name, _ in schema.triggers),
            migration=_migration(store),
            orphans=orphans(store),
        )


def stopped_at_journal(store: SqliteStore) -> bool:
    """A client stopped while it took its older journal of migrations over, and will again
    (docs/contract/formats.md#a3)."""
    journal, schema = "__drizzle_migrations", store.schema
    if not schema.has(journal) or schema.has(journal, "name") or not schema.has("migration"):
        return False
    return _count(store, journal) > 0 and _count(store, "migration") == 0


def counts(store: SqliteStore) -> Mapping[str, tuple[int, int, int]]:
    """Session id -> (messages, parts, V2 rows), from the indexes alone."""
    found: dict[str, list[int]] = {}
    for place, table in enumerate(("message", "part", "session_message")):
        if store.schema.has(table, "session_id"):
            for session_id, number in store.query(f"SELECT session_id, count(*) FROM {table} GROUP BY session_id"):
                found.setdefault(session_id, [0, 0, 0])[place] = number
    return {key: (messages, parts, rows) for key, (messages, parts, rows) in found.items()}


def stored_size(store: SqliteStore, session_id: str) -> int:
    """Characters of JSON that one session's rows hold (reads these rows)."""
    total = 0
    for table in ("message", "part", "session_message"):
        if store.schema.has(table, "session_id"):
            total += int(
                store.query(f"SELECT coalesce(sum(length(data)), 0) FROM {table} WHERE session_id = ?", (session_id,))[
                    0
                ][0]
            )
    return total


def orphans(store: SqliteStore) -> Orphans:
    has = store.schema.has
    sessions = " UNION ALL ".join(f"SELECT id FROM {quoted(name)}" for name in store.schema.session_tables)
    parts: list[str] = []
    if has("part", "message_id") and has("message", "id"):
        for lost in _column(store, "SELECT DISTINCT message_id FROM part EXCEPT SELECT id FROM message"):
            parts += _column(store, "SELECT id FROM part WHERE message_id = ?", lost)
            if len(parts) >= ORPHAN_CAP:
                break
    homeless: tuple[str, ...] = ()
    if has("project", "id"):
        for name in store.schema.session_tables:
            if has(name, "project_id"):
                homeless += tuple(
                    _column(
                        store,
                        f"SELECT id FROM {quoted(name)} WHERE project_id NOT IN (SELECT id FROM project)",
                    )
                )
    return Orphans(
        parts=tuple(parts[:ORPHAN_CAP]),
        messages=_without_session(store, "message", sessions),
        session_messages=_without_session(store, "session_message", sessions),
        sessions_without_project=homeless[:ORPHAN_CAP],
        todo_sessions=tuple(_column(store, f"SELECT DISTINCT session_id FROM todo EXCEPT SELECT id FROM ({sessions})"))
        if has("todo", "session_id")
        else (),
    )


def _without_session(store: SqliteStore, table: str, sessions: str) -> tuple[str, ...]:
    if not store.schema.has(table, "session_id"):
        return ()
    found: list[str] = []
    for lost in _column(store, f"SELECT DISTINCT session_id FROM {table} EXCEPT SELECT id FROM ({sessions})"):
        found += _column(store, f"SELECT id FROM {table} WHERE session_id = ?", lost)
        if len(found) >= ORPHAN_CAP:
            break
    return tuple(found[:ORPHAN_CAP])


def _column(store: SqliteStore, sql: str, *values: Any) -> list[Any]:
    return [value for (value,) in store.query(f"{sql} LIMIT {ORPHAN_CAP}", values)]


def _count(store: SqliteStore, table: str) -> int:
    return int(store.query(f"SELECT count(*) FROM {quoted(table)}")[0][0]) if store.schema.has(table) else 0


def _migration(store: SqliteStore) -> str:
    if not (store.schema.has("kv", "key") and store.schema.has("kv", "value")):
        return ""
    found = store.query("SELECT value FROM kv WHERE key = 'migration.v1-v2'")
    return str(found[0][0]) if found else ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
