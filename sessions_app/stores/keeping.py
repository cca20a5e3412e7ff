"""The full backups that lie in a folder, and which of them are no longer kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from .backup import ORIGIN, backup_place

PARTIAL_SECONDS = 86_400
"""A half-made file so old belongs to a process that was killed."""


@dataclass(frozen=True, slots=True)
class KeptBackup:
    """A full backup. ``kind``: daily, batch (made for one bulk repair), before-restore (what a restore replaced).
    ``of``: the database's path, "" where that is not known; ``size`` in bytes."""

    path: Path
    kind: Literal["daily", "batch", "before-restore"]
    of: str
    made_at: datetime
    size: int


def kept_backups(directory: Path) -> list[KeptBackup]:
    """The backups in a folder, newest first."""
    found = []
    for path in directory.rglob("*.db"):
        try:
            facts = path.stat()
        except OSError:  # pruned meanwhile
            continue
        if path.name.startswith("."):
            continue
        made = datetime.fromtimestamp(facts.st_mtime, UTC)
        if path.parent == directory:
            found.append(KeptBackup(path, "before-restore", _origin(path.with_suffix(ORIGIN)), made, facts.st_size))
        else:
            kind: Literal["daily", "batch"] = "daily" if path.parent.parent == directory else "batch"
            found.append(KeptBackup(path, kind, _origin(path.parent / ORIGIN), made, facts.st_size))
    return sorted(found, key=lambda backup: (backup.made_at, backup.path.name), reverse=True)


def _origin(file: Path) -> str:
    try:
        return file.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def place_of(path: Path) -> str:
    """The name of the folder in which backups of a database lie."""
    return backup_place(path, Path(), datetime.now(UTC).date()).parent.name


def backups_due(backups: Sequence[KeptBackup], *, newest: int, oldest: datetime, now: datetime) -> list[KeptBackup]:
    """Those that are not kept: of each database all but the ``newest`` so many, and what was made before ``oldest``;
    the newest one of each database always stays. What was made ahead of ``now``, by a clock that was set back since,
    counts as the oldest."""
    due = []
    seen: dict[str, int] = {}
    ahead = now + timedelta(days=1)
    for backup in sorted(backups, key=lambda backup: (backup.made_at < ahead, backup.made_at), reverse=True):
        name = backup.path.parent.name if backup.kind != "before-restore" else f"before-restore {backup.of}"
        rank = seen[name] = seen.get(name, 0) + 1
        if rank > newest or (rank > 1 and backup.made_at < oldest):
            due.append(backup)
    return due


def backup_remove(backup: KeptBackup, directory: Path) -> None:
    """Delete a backup, and its folder where that is empty then."""
    backup.path.unlink(missing_ok=True)
    if backup.kind == "before-restore":
        backup.path.with_suffix(ORIGIN).unlink(missing_ok=True)
        return
    place = backup.path.parent
    if not any(place.glob("*.db")) and backup.kind == "batch":
        for left in (place / ORIGIN, place / "lock"):
            left.unlink(missing_ok=True)
        for folder in (place, place.parent):
            if folder != directory and not any(folder.iterdir()):
                folder.rmdir()


def leftovers(directory: Path, now: datetime, patterns: Sequence[str], *, folders: bool = False) -> list[Path]:
    """Half-made files, or folders, that a killed process left more than a day ago."""
    limit = (now - timedelta(seconds=PARTIAL_SECONDS)).timestamp()
    found = [path for pattern in patterns for path in directory.glob(pattern)]
    return [path for path in found if path.is_dir() == folders and path.stat().st_mtime < limit]
