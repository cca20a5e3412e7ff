"""What rules may know beside a session's rows: its store, and the machine where the file is in its native place
(docs/contract/design.md#4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sessions_app import stores
from sessions_app.domain import values
from sessions_app.domain.ids import WRAP
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.rules import Facts
from sessions_app.domain.versions import numbers
from sessions_app.stores.base import Store, StoreError
from sessions_app.stores.locations import databases_in
from sessions_app.stores.sqlite.damage import quick_check
from sessions_app.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from sessions_app.models import Source

QUICK_SECONDS = 5.0
"""The longest that somebody waits for SQLite's quick_check; the background import takes longer."""


def store_facts(*, store: Store, native: bool, now: datetime, check: Sequence[str] = ()) -> Facts:
    """Facts of the whole store; ``session_facts`` adds what one session needs. ``check`` is what ``store_damage``
    found."""
    sessions, at = store.last_used(), int(now.timestamp() * 1000)
    return Facts(
        store=store.kind,
        native=native,
        complete=store.kind in ("sqlite", "storage"),
        sessions=frozenset(session_id for session_id, _, _ in sessions),
        client=max((version for _, version, _ in sessions), key=numbers, default=""),
        asleep=tuple(session_id for session_id, _, used in sessions if used < at - at % WRAP),
        reads="opencode-v2" if isinstance(store, SqliteStore) and "session_v2" in store.schema.tables else "",
        beside=_beside(store),
        check=tuple(check),
        now=at,
        history=partial(_history, store),
    )


def facts_apart(facts: Facts) -> Facts:
    """Without what only their own process can look up, so that they can be sent to another."""
    return replace(facts, history=None)


def facts_here(facts: Facts, store: Store) -> Facts:
    """``facts_apart`` undone, in a process that has opened the store for itself."""
    return replace(facts, history=partial(_history, store))


def _history(store: Store, message_id: str) -> list[tuple[str, int]]:
    """The messages of the session that holds one, as ``Facts.history`` wants them."""
    try:
        row = store.row("message", {"id": message_id})
        messages = [] if row is None else store.read(row["session_id"]).messages
    except (StoreError, KeyError):
        return []
    return [(str(one.get("id")), _whole(one.get("time_created"))) for one in messages]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1


def _reopened(source: Source, message_id: str) -> list[tuple[str, int]]:
    try:
        with source.open_store() as store:
            return _history(store, message_id)
    except StoreError:
        return []


def store_damage(*, store: Store, seconds: float = QUICK_SECONDS) -> list[str]:
    """What SQLite's quick_check reports within ``seconds``, in its words; [] where nothing is wrong or there was no
    time to tell."""
    if store.kind != "sqlite":
        return []
    return [values.shown(message) for message in quick_check(store.path, seconds=seconds).messages]


def source_facts(*, source: Source, now: datetime) -> Facts:
    """Facts of a source's store, none where it cannot be read just now."""
    try:
        with source.open_store() as store:
            known = store_facts(store=store, native=source.native, now=now, check=source.damage)
            return replace(known, history=partial(_reopened, source))
    except StoreError:
        return Facts()


def session_facts(facts: Facts, rows: SessionRows) -> Facts:
    """With the directories this session names, looked up only in a native place."""
    return replace(facts, directories=directories_named(rows.session, rows.projects)) if facts.native else facts


def directories_named(session: Row, projects: Sequence[Row]) -> dict[str, bool]:
    """The directories that a session's row and its projects name, and whether they are there."""
    named = [session.get("directory"), *(project.get("worktree") for project in projects)]
    paths = {path for path in named if isinstance(path, str) and path.startswith("/") and "\x00" not in path}
    return {path: Path(path).is_dir() for path in paths}


def _beside(store: Store) -> frozenset[str] | None:
    """What the database beside a storage tree holds: later clients read that, and leave the tree where it is
    (docs/contract/formats.md#a2)."""
    found = databases_in(store.path.parent) if store.kind == "storage" and store.path.is_dir() else []
    if not found:
        return None
    try:
        with stores.open_store(found[0], "sqlite") as database:
            return frozenset(map(str, database.session_ids()))
    except StoreError:
        return None


def is_native(path: Path) -> bool:
    """The file is one that its client finds by itself (docs/contract/formats.md#a1)."""
    resolved = path.resolve()
    return any(found.resolve() == resolved for found in stores.discover())
