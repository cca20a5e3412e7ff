"""One kind of job for everything that runs in the background: claim, heartbeat, progress, cancel, finish, give up.

A chunk holds the job under a lease that every note of progress renews. A worker that dies lets the lease run out; one
that was only slow finds its lease gone and stops, so that two never write the same progress.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet

from sessions_app.domain import values
from sessions_app.models.jobs import Job, Leased

log = structlog.get_logger(__name__)

LEASE = timedelta(minutes=2)
"""A chunk without a sign of life for so long has lost its worker. The longest wait between two signs is a provider's
silence, a minute and a half."""
PATIENCE = timedelta(minutes=10)
"""A queued job waits its turn behind others; after so long its task is taken to be lost, and a second one does no
harm."""

GIVEN_UP = "Suture failed on this; see the log."

type Clock = Callable[[], datetime]


class LeaseLost(Exception):
    """Somebody else has the job in hand by now, or it was deleted: stop, and write nothing more."""


def job_run[J: Job](
    kind: type[J],
    job_id: int,
    clock: Clock,
    chunk: Callable[[J], bool],
    ended: Callable[[J, datetime], None] = lambda job, now: None,
) -> bool:
    """One chunk of a job; whether there is more to do. False as well where another worker has it, or it is finished.

    ``chunk`` calls ``job_keep`` as it goes and says whether there is more; ``ended`` is told where this gives up.
    """
    job = _claim(kind, job_id, clock())
    if job is None:
        return False

    def give_up(now: datetime) -> None:
        with transaction.atomic():
            job_finish(job, Job.FAILED, now, GIVEN_UP)
            ended(job, now)

    return chunk_run(job, clock, lambda: chunk(job), give_up)


def chunk_run(held: Leased, clock: Clock, chunk: Callable[[], bool], give_up: Callable[[datetime], None]) -> bool:
    """One chunk of what is in hand already, put back where the chunk says that there is more."""
    try:
        more = chunk()
        if more:
            _hold(held, clock(), lease=False)
    except LeaseLost:
        log.warning("lease lost", job=str(held))
        return False
    except DatabaseError:  # a locked database passes: the lease runs out, and the periodic look takes the job up
        raise
    except KeyboardInterrupt:  # Ctrl-C, SIGTERM: whoever goes on need not wait until the lease runs out
        with suppress(LeaseLost, DatabaseError):
            if held.lease_until is None:  # its end was taken back, and the lease with it
                held.refresh_from_db(fields=("lease_until",))
            _hold(held, clock(), lease=False)
        raise
    except Exception:  # a fault of ours: it would come again with every chunk
        log.exception("job given up", job=str(held))
        give_up(clock())
        return False
    return more


def job_keep(job: Job, now: datetime, *names: str) -> bool:
    """Note progress (the fields ``names``) and hold the job for longer; whether a cancel was asked for.

    Raises ``LeaseLost``.
    """
    _hold(job, now, *names)
    job.refresh_from_db(fields=("cancel_requested",))
    return job.cancel_requested


def job_finish(job: Job, state: str, now: datetime, error: str = "", *names: str) -> bool:
    """End a job that is in hand, with the fields ``names``; False, as nothing is left to do. Raises ``LeaseLost``."""
    job.state, job.error, job.finished_at = state, values.shown(error), now
    _hold(job, now, "state", "error", "finished_at", *names, lease=False)
    return False


def job_cancel(job: Job, now: datetime) -> bool:
    """Have a job stop: after what is in hand, at once where nobody has it. Whether there was something to stop."""
    going = _rows(job).filter(state__in=(Job.QUEUED, Job.RUNNING))
    if not going.update(cancel_requested=True):
        return False
    going.filter(free(now)).update(state=Job.CANCELLED, finished_at=now, lease_until=None)
    job.refresh_from_db(fields=("state", "cancel_requested", "finished_at", "lease_until"))
    return True


def jobs_abandoned[J: Job](kind: type[J], now: datetime, *, alone: bool = False) -> list[J]:
    """Jobs that lost their worker, in the middle of a chunk or between two: the caller enqueues each again.

    ``alone``: no other process works on this database, so every active job has lost it.
    """
    found = kind._default_manager.filter(state__in=kind.ACTIVE).order_by("pk")
    return [job for job in (found if alone else found.filter(_silent(now))) if _take(job, now)]


def _silent(now: datetime) -> Q:
    """Times ahead of now count like those behind: they were taken before the clock was set back."""
    waiting = Q(heartbeat_at=None) | _away("heartbeat_at", now, PATIENCE)
    return (Q(state=Job.QUEUED) & _away("created_at", now, PATIENCE) & waiting) | (
        ~Q(state=Job.QUEUED) & (Q(heartbeat_at=None) | _away("heartbeat_at", now, LEASE))
    )


def _away(field: str, now: datetime, span: timedelta) -> Q:
    return Q(**{f"{field}__lte": now - span}) | Q(**{f"{field}__gte": now + span})


def _take(job: Job, now: datetime) -> bool:
    """End its lease. Of two that look at the same time only one gets it."""
    same = _rows(job).filter(lease_until=job.lease_until, heartbeat_at=job.heartbeat_at)
    return bool(same.update(lease_until=None, heartbeat_at=now))


def _claim[J: Job](kind: type[J], job_id: int, now: datetime) -> J | None:
    mine = kind._default_manager.filter(free(now), pk=job_id, state__in=kind.ACTIVE)
    if not mine.update(lease_until=now + LEASE, heartbeat_at=now):
        return None
    kind._default_manager.filter(pk=job_id, state=Job.QUEUED).update(state=Job.RUNNING)
    return kind._default_manager.get(pk=job_id)


def _hold(held: Leased, now: datetime, *names: str, lease: bool = True) -> None:
    until = now + LEASE if lease else None
    fields = {name: getattr(held, name) for name in names}
    if not _rows(held).filter(lease_until=held.lease_until).update(**fields, lease_until=until, heartbeat_at=now):
        raise LeaseLost
    held.lease_until, held.heartbeat_at = until, now


def free(now: datetime) -> Q:
    """Nobody has it in hand."""
    return Q(lease_until=None) | Q(lease_until__lte=now)


def _rows[L: Leased](held: L) -> QuerySet[L]:
    return type(held)._default_manager.filter(pk=held.pk)
