"""Sources for their page."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db.models import FETCH_RAISE, Count

from sessions_app.models import ImportJob, Session, SessionCount, Source
from sessions_app.stores import SqliteStore, StoreError, disk_sizes
from sessions_app.stores.sqlite.inspection import free_bytes


@dataclass(frozen=True, slots=True)
class SourceRow:
    id: int
    name: str
    path: str
    size: int | None
    """Bytes on disk of its file with its WAL; None of a folder, or where it is gone."""
    wal: int
    free: int
    """Bytes of pages that hold nothing, where that was looked for."""
    kind: str
    origin: str
    state: str
    error: str
    note: str
    sessions: int
    imported: int
    blocked: int
    problems: int
    last_read_at: datetime | None
    job: ImportJob | None


def source_rows(*, seconds: float = 0.0) -> tuple[SourceRow, ...]:
    """All sources with what a line says of each, newest first. For ``seconds`` their files are looked into as well."""
    deadline = time.monotonic() + seconds
    found = Source.objects.order_by("-created_at", "-id")
    kept = SessionCount.objects.filter(kind=SessionCount.Kind.ANY, health=Session.Health.BLOCKED)
    blocked = dict(kept.order_by().values_list("source", "sessions"))
    problems = dict(Source.objects.order_by().values_list("pk").annotate(count=Count("problems")))
    jobs = {job.source_id: job for job in ImportJob.objects.filter(state__in=ImportJob.ACTIVE).fetch_mode(FETCH_RAISE)}
    rows = []
    for source in found.fetch_mode(FETCH_RAISE):
        file, wal = disk_sizes(Path(source.file)) or (None, 0)
        row = SourceRow(
            id=source.pk,
            name=source.name,
            path=source.path,
            size=None if file is None else file + wal,
            wal=wal,
            free=_free(source) if file and source.pk not in jobs and time.monotonic() < deadline else 0,
            kind=source.get_kind_display(),
            origin=source.get_origin_display(),
            state=source.get_state_display(),
            error=source.error,
            note=source.note,
            sessions=source.sessions_total,
            imported=source.sessions_imported,
            blocked=blocked.get(source.pk, 0),
            problems=problems.get(source.pk, 0),
            last_read_at=source.last_read_at,
            job=jobs.get(source.pk),
        )
        rows.append(row)
    return tuple(rows)


def _free(source: Source) -> int:
    try:
        with source.open_store() as store:
            return free_bytes(store) if isinstance(store, SqliteStore) else 0
    except (StoreError, sqlite3.Error):
        return 0


def source_standing(source_id: int) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """How many of its sessions are of each health, and how many blocked ones of each fate."""
    kinds = (SessionCount.Kind.ANY, SessionCount.Kind.FATE)
    counts = SessionCount.objects.filter(source=source_id, kind__in=kinds, sessions__gt=0).order_by()
    found = list(counts.values_list("kind", "value", "health", "sessions"))
    health = {health: number for kind, _, health, number in found if kind == SessionCount.Kind.ANY}
    fates = {
        fate: number
        for kind, fate, health, number in found
        if kind == SessionCount.Kind.FATE and health == Session.Health.BLOCKED
    }
    return health, fates


def source_found_paths(paths: Iterable[Path]) -> tuple[str, ...]:
    """Stores found on this machine that are not attached yet."""
    known = set(Source.objects.filter(stored_path="").values_list("path", flat=True))
    return tuple(str(path) for path in paths if str(path.resolve()) not in known and str(path) not in known)
