"""Sources for their page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db.models import FETCH_RAISE, Count, Q

from sessions_app.models import ImportJob, Session, Source


@dataclass(frozen=True, slots=True)
class SourceRow:
    id: int
    name: str
    path: str
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


def source_rows() -> tuple[SourceRow, ...]:
    """All sources with what a line says of each, newest first."""
    blocked = Q(sessions__health=Session.Health.BLOCKED)
    found = Source.objects.annotate(blocked=Count("sessions", filter=blocked)).order_by("-created_at", "-id")
    problems = dict(Source.objects.order_by().values_list("pk").annotate(count=Count("problems")))
    jobs = {job.source_id: job for job in ImportJob.objects.filter(state__in=ImportJob.ACTIVE).fetch_mode(FETCH_RAISE)}
    return tuple(
        SourceRow(
            id=source.pk,
            name=source.name,
            path=source.path,
            kind=source.get_kind_display(),
            origin=source.get_origin_display(),
            state=source.get_state_display(),
            error=source.error,
            note=source.note,
            sessions=source.sessions_total,
            imported=source.sessions_imported,
            blocked=source.blocked,
            problems=problems.get(source.pk, 0),
            last_read_at=source.last_read_at,
            job=jobs.get(source.pk),
        )
        for source in found.fetch_mode(FETCH_RAISE)
    )


def source_found_paths(paths: Iterable[Path]) -> tuple[str, ...]:
    """Stores found on this machine that are not attached yet."""
    known = set(Source.objects.filter(stored_path="").values_list("path", flat=True))
    return tuple(str(path) for path in paths if str(path.resolve()) not in known and str(path) not in known)
