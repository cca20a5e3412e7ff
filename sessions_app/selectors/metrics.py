"""What the metrics page counts in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Max, Min, Q

from sessions_app.models import AuditEntry, Compaction, ImportJob, Job, Repair, RepairBatch, Session, SlimJob

_JOBS: Mapping[str, type[Job]] = {
    "import": ImportJob,
    "bulk": RepairBatch,
    "compaction": Compaction,
    "slimming": SlimJob,
}


@dataclass(frozen=True, slots=True)
class JobAge:
    kind: str
    active: int
    """Queued or running."""
    oldest: float
    """Seconds since the oldest of them was asked for."""


@dataclass(frozen=True, slots=True)
class Numbers:
    sessions: Mapping[str, int]
    """By health."""
    unscanned: int
    """Sessions that changed since their last scan, or had none."""
    last_scan: datetime | None
    repairs: Mapping[str, int]
    """By state."""
    refusals: int
    """Repairs that were refused when they were to be applied."""
    jobs: tuple[JobAge, ...]


def numbers(*, now: datetime) -> Numbers:
    sessions = Session.objects.order_by().values_list("health").annotate(count=Count("pk"))
    repairs = Repair.objects.order_by().values_list("state").annotate(count=Count("pk"))
    return Numbers(
        sessions=dict.fromkeys(Session.Health.values, 0) | dict(sessions),
        unscanned=Session.objects.filter(Q(scanned_at=None) | ~Q(scanned_hash=F("rows_hash"))).count(),
        last_scan=Session.objects.aggregate(last=Max("scanned_at"))["last"],
        repairs=dict.fromkeys(Repair.State.values, 0) | dict(repairs),
        refusals=AuditEntry.objects.filter(action="repair.refused").count(),
        jobs=tuple(_jobs(now)),
    )


def _jobs(now: datetime) -> Iterator[JobAge]:
    for kind, model in _JOBS.items():
        found = model._default_manager.filter(state__in=model.ACTIVE).aggregate(
            count=Count("pk"), first=Min("created_at")
        )
        yield JobAge(kind, found["count"], (now - found["first"]).total_seconds() if found["first"] else 0.0)
