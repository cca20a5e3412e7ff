"""What every write to a store shares: a full backup, a restore point, then the rows (docs/contract/design.md#5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sessions_app import stores
from sessions_app.domain.patience import unlimited
from sessions_app.domain.repair import RowChange
from sessions_app.services.datadir import backup_limit, backups_dir, journal_dir
from sessions_app.stores.backup import Backup, backup_once
from sessions_app.stores.base import About, Store
from sessions_app.stores.journal import Journal, Recovery, new_public_id


@dataclass(frozen=True, slots=True)
class Written:
    """A write that no history of ours holds: ``repair_id`` is what ``undo`` takes."""

    repair_id: str
    backup: Backup
    changes: tuple[RowChange, ...]

    @property
    def backup_path(self) -> str:
        return str(self.backup.path or "")


def journal(now: datetime) -> Journal:
    """The journal of the data directory, its clock standing at ``now``."""
    return Journal(journal_dir(), clock=lambda: now)


def journal_recover(*, now: datetime) -> list[str]:
    """Settle writes that a crash interrupted, by the rows themselves; returns what to tell, a sentence each. Needs no
    database of ours."""
    return [recovery.words for recovery in journal_recovered(now=now)]


def journal_recovered(*, now: datetime) -> list[Recovery]:
    """As ``journal_recover``, with what became of each."""
    return journal(now).recover(stores.open_store)


def full_backup(*, store: Store, now: datetime, batch: str = "") -> Backup:
    """One full backup of a database per batch and per day, unless it is over the size limit; the answer says why there
    is none."""
    if store.kind != "sqlite":
        return Backup(None, "Only databases are backed up whole; the restore point holds the changed rows.")
    return backup_once(store.path, backups_dir(batch), day=now.date(), limit=backup_limit())


def store_write(
    *,
    store: Store,
    changes: Sequence[RowChange],
    about: About,
    now: datetime,
    expect: Mapping[str, str] | None = None,
) -> Written:
    """Write rows whose only history is the journal. ``expect``: session id -> hash that it must still have. Raises
    ``GuardRefused``, ``StoreError``: nothing was written."""
    backup = full_backup(store=store, now=now)
    about = replace(about, repair_id=new_public_id(), backup=str(backup.path or ""))
    with unlimited():
        applied = store.apply(changes, journal=journal(now), about=about, expect=expect)
    return Written(about.repair_id, backup, applied.changes)
