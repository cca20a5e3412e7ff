"""A store slimmed: what would be freed, a smaller copy, or that copy in the store's place (docs/my-store-is-huge.md).
Needs no database of ours, and nothing of Django."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sessions_app.stores import replacing
from sessions_app.stores.base import StoreError
from sessions_app.stores.ground import Hook, no_hook, real_place
from sessions_app.stores.holders import database_files, holders
from sessions_app.stores.shares import share_of
from sessions_app.stores.slimming import Progress, Survey, slim_into, survey
from sessions_app.stores.sqlite.eventlog import Recent, recent
from sessions_app.stores.sqlite.inspection import Sizes, sizes
from sessions_app.stores.sqlite.store import SqliteStore

MOST_DAYS = 700
"""The longest time that ids tell (docs/contract/formats.md#a8), and a little less."""
SAMPLE = 128 * 1024**2
"""Bytes of events after which a preview estimates the rest."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What slimming would do to a store. ``freed``: bytes of superseded events and free pages, estimated where
    ``sampled``; ``whole``: sessions whose events stay, with the reason; ``strange``: bytes of events of the V2 line,
    which stay too; ``in_use``: who has the store open."""

    sizes: Sizes
    freed: int
    sampled: bool
    whole: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    strange: int
    in_use: str
    kept: tuple[tuple[str, int], ...]

    @property
    def left(self) -> int:
        """About the size of the file afterwards."""
        return max(self.sizes.file - self.freed, 0)

    def document(self) -> dict[str, Any]:
        return {
            "bytes": self.sizes.file,
            "events": self.sizes.events,
            "free": self.sizes.free,
            "freed": self.freed,
            "after": self.left,
            "sampled": self.sampled,
            "left_whole": _whole_documents(self.whole),
            "strange": self.strange,
            "warnings": list(self.warnings),
            "in_use": self.in_use,
            "kept": [{"path": path, "bytes": size} for path, size in self.kept],
        }


@dataclass(frozen=True, slots=True)
class Slimming:
    """What was written to ``path``; ``kept``: where the old file is, "" for a copy."""

    path: str
    before: int
    after: int
    events: int
    removed: int
    kept: str
    whole: tuple[tuple[str, str], ...]
    strange: int
    warnings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "before": self.before,
            "after": self.after,
            "events": self.events,
            "removed": self.removed,
            "kept": self.kept,
            "left_whole": _whole_documents(self.whole),
            "strange": self.strange,
            "warnings": list(self.warnings),
        }


def slim_preview(*, path: Path, now: datetime, keep_days: int = 0, progress: Progress, most: int = SAMPLE) -> Preview:
    """What slimming would free. ``most``: bytes of events that are read for it, 0 = all. Raises ``StoreError``."""
    path = _database(path)
    with SqliteStore(path) as store:
        known = sizes(store)
    found = survey(path, young=_young(now, keep_days), progress=progress, most=most)
    part = bool(most) and found.size < known.events * 0.99 and found.size > most
    freed = int(known.events * found.freed / max(found.size, 1)) if part else found.freed
    return Preview(
        sizes=known,
        freed=freed + known.free,
        sampled=part,
        whole=_whole(found),
        strange=found.strange,
        warnings=_warnings(path),
        in_use=_in_use(path),
        kept=tuple((str(file), file.stat().st_size) for file in replacing.kept_files(path)),
    )


def file_slim(
    *,
    path: Path,
    output: Path | None,
    now: datetime,
    keep_days: int = 0,
    progress: Progress,
    at: Hook = no_hook,
) -> Slimming:
    """Write ``path`` slimmed to ``output``, or put it in the place of ``path`` itself (None), whose old file is kept.

    Raises ``StoreError``, ``FileExistsError``: nothing was changed.
    """
    path = _database(path)
    if by := holders(database_files(path)):
        raise replacing.in_use(path, by)
    seen = replacing.standing(path)
    place = output or path.with_name(f".{path.name}.slimmed")
    kept = ""
    try:
        if output is None:
            place.unlink(missing_ok=True)  # of a process that was killed
        made = slim_into(path, place, young=_young(now, keep_days), progress=progress, at=at)
        if output is None:
            kept = str(replacing.replace(path, place, seen=seen, now=now, at=at))
    finally:
        if output is None:
            place.unlink(missing_ok=True)
    return Slimming(
        path=str(output or path),
        before=made.before,
        after=made.after,
        events=made.survey.events,
        removed=made.survey.removed,
        kept=kept,
        whole=_whole(made.survey),
        strange=made.survey.strange,
        warnings=_warnings(path),
    )


def _database(path: Path) -> Path:
    """Raises ``StoreError`` for what is no database of opencode's."""
    path = real_place(path)
    if path.is_dir():
        raise StoreError("not-a-store", path, "Only a database can be slimmed.", "A storage tree holds no event log.")
    SqliteStore(path).close()
    return path


def _young(now: datetime, keep_days: int) -> Recent | None:
    return recent(int(now.timestamp() * 1000), keep_days) if keep_days else None


def _in_use(path: Path) -> str:
    by = holders(database_files(path))
    return replacing.in_use(path, by).words if by else ""


def _warnings(path: Path) -> tuple[str, ...]:
    kind = share_of(path)
    if not kind:
        return ()
    return (
        f"The store lies on a network share ({kind}), where nobody can tell whether a client on another machine has it"
        " open: close all of them.",
    )


def _whole(found: Survey) -> tuple[tuple[str, str], ...]:
    return tuple((log.session_id, log.whole) for log in found.whole)


def _whole_documents(whole: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"id": session_id, "why": why} for session_id, why in whole]
