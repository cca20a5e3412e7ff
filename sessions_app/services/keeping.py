"""What can be put back: full backups and restore points. Needs no database of ours, and nothing of Django."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sessions_app.stores.ground import real_place
from sessions_app.stores.journal import Entry
from sessions_app.stores.keeping import KeptBackup, kept_backups, place_of

from .datadir import backups_dir
from .repair.write import journal


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """A write that can be taken back, or could (``state``: prepared, committed, undone, failed); ``rows`` counts the
    rows it changed."""

    id: str
    at: str
    state: str
    path: str
    sessions: tuple[str, ...]
    rows: int
    actor: str
    reason: str
    undoes: str
    backup: str

    @classmethod
    def of(cls, entry: Entry) -> RestorePoint:
        return cls(
            entry.id,
            entry.prepared_at,
            entry.state,
            entry.path,
            entry.session_ids,
            len(entry.changes),
            entry.actor,
            entry.reason,
            entry.undoes,
            entry.backup,
        )

    def document(self) -> dict[str, Any]:
        return asdict(self)


def backup_document(backup: KeptBackup) -> dict[str, Any]:
    """A backup as JSON has it."""
    return {
        "path": str(backup.path),
        "kind": backup.kind,
        "of": backup.of,
        "made_at": backup.made_at.isoformat(),
        "bytes": backup.size,
    }


def backups_kept(of: Path | None = None) -> list[KeptBackup]:
    """The full backups, newest first; of one database where one is named."""
    found = kept_backups(backups_dir())
    if of is None:
        return found
    return [one for one in found if one.path.parent.name == place_of(of) or one.of == str(real_place(of).absolute())]


def restore_points(now: datetime, of: Path | None = None) -> list[RestorePoint]:
    """What the journal holds, newest first; of one store where one is named."""
    found = [RestorePoint.of(entry) for entry in journal(now).entries()]
    return [point for point in reversed(found) if of is None or point.path == str(real_place(of).absolute())]
