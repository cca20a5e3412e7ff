"""Which background workers live."""

from __future__ import annotations

from datetime import datetime, timedelta

from sessions_app.models import WorkerBeat

BEAT_SECONDS = 10.0
SILENCE = timedelta(seconds=30)
"""A worker silent for so long is taken to be gone."""


def worker_beat(*, worker_id: str, now: datetime) -> None:
    """The worker lives. Beats of workers that went silent an hour ago are forgotten."""
    WorkerBeat.objects.update_or_create(
        worker_id=worker_id, defaults={"beat_at": now}, create_defaults={"beat_at": now, "started_at": now}
    )
    hour = timedelta(hours=1)
    WorkerBeat.objects.exclude(beat_at__range=(now - hour, now + hour)).delete()


def worker_gone(*, worker_id: str) -> None:
    WorkerBeat.objects.filter(worker_id=worker_id).delete()


def workers_alive(*, now: datetime) -> int:
    """How many workers said so within the last half minute, and not before the clock was set back."""
    return WorkerBeat.objects.filter(beat_at__gte=now - SILENCE, beat_at__lte=now + SILENCE).count()


def worker_is_alive(*, now: datetime) -> bool:
    """At least one worker does."""
    return workers_alive(now=now) > 0
