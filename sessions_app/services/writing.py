"""What every write to a store shares: who holds the file, the full backup before it, the journal (design 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.conf import settings

from sessions_app.domain.model import Row, SessionRows
from sessions_app.stores.backup import Backup, backup_once
from sessions_app.stores.base import Store
from sessions_app.stores.holders import Holder
from sessions_app.stores.journal import Journal

from .datadir import backups_dir, journal_dir


class RepairRefused(Exception):
    """Nothing was written. ``kind``: changed (the session is not what the plan was made for), held (a client has the
    file open), nothing (no operation to apply), store (the store cannot be read or written), state (the repair cannot
    be undone). ``changed`` says what changed, in words."""

    def __init__(self, kind: str, words: str, changed: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.changed = tuple(changed)


def journal(now: datetime) -> Journal:
    """The journal of the data directory, its clock standing at ``now``."""
    return Journal(journal_dir(), clock=lambda: now)


def full_backup(*, store: Store, now: datetime, batch: str = "") -> Backup:
    """One full backup of a database per batch and per day, unless it is over the size limit; the answer says why there
    is none."""
    if store.kind != "sqlite":
        return Backup(None, "Only databases are backed up whole; the restore point holds the changed rows.")
    return backup_once(store.path, backups_dir(batch), day=now.date(), limit=settings.SUTURE_BACKUP_LIMIT)


def named(holders: Iterable[Holder]) -> str:
    """Processes, in words."""
    return ", ".join(f"{holder.command or 'a process'} (process {holder.pid})" for holder in holders)


def clients_of(holders: Iterable[Holder]) -> list[Holder]:
    """Those among the holders of a file that are the agent's client: what looks stuck may still be running in them
    (design 5.4)."""
    return [holder for holder in holders if holder.is_client]


def held_words(clients: Iterable[Holder]) -> str:
    """Why a repair waits for the client."""
    return (
        f"{named(clients)} has the file open, and what this repair would close may still be running. Close the client,"
        " or force it."
    )


def what_changed(before: SessionRows, after: SessionRows, limit: int = 20) -> list[str]:
    """In words, which rows differ."""
    found: list[str] = []
    if before.session != after.session:
        columns = [name for name in after.session if before.session.get(name) != after.session[name]]
        found.append(f"session row: {', '.join(columns) or 'columns'} changed")
    tables = (
        ("message", before.messages, after.messages),
        ("part", before.parts, after.parts),
        ("session_message", before.session_message, after.session_message),
    )
    for table, old, new in tables:
        found += _table_changes(table, old, new)
    return found if len(found) <= limit else [*found[:limit], f"and {len(found) - limit} more"]


def _table_changes(table: str, old: list[Row], new: list[Row]) -> list[str]:
    was = {row.get("id"): row for row in old}
    now = {row.get("id"): row for row in new}
    found = [f"{table} {key} was added" for key in now if key not in was]
    found += [f"{table} {key} is gone" for key in was if key not in now]
    return found + [f"{table} {key} changed" for key, row in now.items() if key in was and was[key] != row]
