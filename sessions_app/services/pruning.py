"""How long things are kept beside the agents' files: backups, restore points, task results, web sessions
(docs/settings.md)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session as WebSession
from django.db.models import QuerySet
from django_tasks_db.models import DBTaskResult

from sessions_app.models import Source
from sessions_app.stores.keeping import KeptBackup, backup_remove, backups_due, kept_backups, leftovers

from .database import database_is_there
from .datadir import backups_dir, data_dir, samples_dir, uploads_dir
from .keeping import backup_document
from .repair.write import journal

_HALF_MADE = ("backups/*/.*.partial*", "backups/*/*/.*.partial*", "tmp*.upload*")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted, or would be. ``files`` are half-made ones, and folders of uploads that nobody
    has, which killed processes left."""

    backups: list[KeptBackup]
    restore_points: list[str]
    files: list[Path]
    tasks: int
    web_sessions: int

    @property
    def size(self) -> int:
        """Bytes of the backups."""
        return sum(backup.size for backup in self.backups)

    def document(self) -> dict[str, Any]:
        return {
            "backups": [backup_document(backup) for backup in self.backups],
            "restore_points": self.restore_points,
            "files": [str(file) for file in self.files],
            "tasks": self.tasks,
            "web_sessions": self.web_sessions,
            "bytes": self.size,
        }


def keeping_prune(*, now: datetime, dry_run: bool = False) -> Pruned:
    """Delete what the settings no longer keep."""
    newest, oldest = settings.SUTURE_KEEP_BACKUPS, now - timedelta(days=settings.SUTURE_KEEP_BACKUP_DAYS)
    backups = backups_due(kept_backups(backups_dir()), newest=newest, oldest=oldest, now=now)
    points = journal(now).prune(
        newest=settings.SUTURE_KEEP_RESTORE_POINTS,
        oldest=now - timedelta(days=settings.SUTURE_KEEP_RESTORE_POINT_DAYS),
        dry_run=dry_run,
    )
    files = leftovers(data_dir(), now, _HALF_MADE) + _nobodys(now)
    rows = _rows_due(now)
    counts = [query.count() for query in rows]
    if not dry_run:
        for backup in backups:
            backup_remove(backup, backups_dir())
        for file in files:
            if file.is_dir():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)
        for query in rows:
            query.delete()
    tasks, web_sessions = counts or (0, 0)
    return Pruned(backups, [point.id for point in points], files, tasks, web_sessions)


def _nobodys(now: datetime) -> list[Path]:
    """Folders of uploads that never became a source, or whose source was deleted: a killed process left them."""
    if not database_is_there():
        return []
    stored = Source.objects.exclude(stored_path="").values_list("stored_path", flat=True)
    kept = {part for path in stored for part in Path(path).parts}
    homes = uploads_dir(), samples_dir()
    found = [folder for home in homes for folder in leftovers(home, now, ("*",), folders=True)]
    return [folder for folder in found if folder.name not in kept]


def _rows_due(now: datetime) -> list[QuerySet[Any]]:
    """Task results and web sessions that are over, where there is a database of ours."""
    if not database_is_there():
        return []
    oldest = now - timedelta(days=settings.SUTURE_KEEP_TASK_DAYS)
    return [
        DBTaskResult.objects.finished().filter(finished_at__lt=oldest),
        WebSession.objects.filter(expire_date__lt=now),
    ]
