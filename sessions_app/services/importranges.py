"""An import shared out among workers: its sessions lie in ranges of forty, the newest first, and each range is in one
worker's hands at a time, under a lease.

Whoever takes, notes, puts back or ends anything of an import locks its row first: what is told of it here is true while
that lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from django.db import transaction
from django.db.models import Count, Max, Q, Sum

from sessions_app.models import ImportJob, ImportRange, Session, Source

from .jobs import LEASE, LeaseLost, free, job_finish
from .workers import workers_alive

TOGETHER = 40
"""Sessions of a range: their rows, or scans, are kept in one transaction."""
COPIED = Q(pending=False, scanned_at=None, rules_version="", imported_at__isnull=False)
"""Sessions whose rows were copied and not scanned yet."""
AWAITED = COPIED & Q(source__state__in=(Source.State.LISTING, Source.State.IMPORTING))
"""Those that an import is about to scan: nobody else need."""
_MADE = 500


@dataclass(slots=True)
class Progress:
    """What a worker has done since it last said so."""

    done: int = 0
    failed: int = 0
    parts: int = 0


def sessions_left(source: Source) -> int:
    """Sessions that an import still has to read or to scan."""
    return Session.objects.filter(Q(pending=True) | COPIED, source=source).count()


def ranges_make(job: ImportJob) -> None:
    """Share out what an import still has to read or to scan; ``total`` says how many sessions that are."""
    left = Session.objects.filter(Q(pending=True) | COPIED, source=job.source).order_by("-time_updated", "-id")
    ranges = batched(left.values_list("pk", flat=True).iterator(), TOGETHER, strict=False)
    job.total = 0
    with transaction.atomic():
        job.ranges.all().delete()  # of a worker that died here
        for many in batched(ranges, _MADE, strict=False):
            job.total += sum(map(len, many))
            ImportRange.objects.bulk_create(ImportRange(whole=job, sessions=list(keys)) for keys in many)


def range_take(job_id: int, now: datetime) -> ImportRange | None:
    """The next range that nobody has in hand, rows before scans; None where there is none, or the import is over.

    A cancelled import ends here, once nobody has anything of it in hand.
    """
    with transaction.atomic():
        job = _locked(job_id)
        if job is None:
            return None
        if job.cancel_requested:
            if not job.ranges.filter(lease_until__gt=now).exists():
                import_end(job, ImportJob.State.CANCELLED, now)
            return None
        found = job.ranges.filter(free(now)).order_by("scanning", "pk").first()
        if found is not None:
            found.lease_until, found.heartbeat_at = now + LEASE, now
            found.save(update_fields=("lease_until", "heartbeat_at"))
            _alive(job, now)
        return found


def range_keep(held: ImportRange, made: Progress, now: datetime) -> bool:
    """Note progress and hold the range for longer; whether the import was cancelled. Raises ``LeaseLost``."""
    counted, until = held.counted + made.done + made.failed, now + LEASE
    with transaction.atomic():
        job = _locked(held.whole_id)
        mine = ImportRange.objects.filter(pk=held.pk, lease_until=held.lease_until)
        if job is None or not mine.update(lease_until=until, heartbeat_at=now, counted=counted):
            raise LeaseLost
        _add(job, made)
        _alive(job, now, "done", "failed", "parts")
    held.lease_until, held.counted = until, counted
    made.done = made.failed = made.parts = 0
    return job.cancel_requested


def range_end(held: ImportRange, made: Progress, now: datetime) -> None:
    """Its rows are in: it waits for its scan, or there is nothing left of it to do; the last one ends the import.
    Raises ``LeaseLost``."""
    keys = held.sessions
    unscanned = not held.scanning and Session.objects.filter(COPIED, pk__in=keys).exists()
    with transaction.atomic():
        job = _locked(held.whole_id)
        mine = ImportRange.objects.filter(pk=held.pk, lease_until=held.lease_until)
        counted = held.counted + made.done + made.failed
        rest = {"scanning": True, "lease_until": None, "heartbeat_at": now, "counted": counted}
        if job is None or not (mine.update(**rest) if unscanned else mine.delete()[0]):
            raise LeaseLost
        _add(job, made)
        if not unscanned:  # what a dead worker did and could not note, and what was opened and so read meanwhile
            job.done += len(keys) - counted
        if job.ranges.exists():
            _alive(job, now, "done", "failed", "parts")
        else:
            import_end(job, ImportJob.State.DONE, now, "", "done", "failed", "parts")


def import_rest(job_id: int, now: datetime) -> None:
    """A worker has nothing of it in hand any more: neither has anybody, where no other has."""
    with transaction.atomic():
        job = _locked(job_id)
        if job is not None:
            job.lease_until = job.ranges.filter(lease_until__gt=now).aggregate(last=Max("lease_until"))["last"]
            job.save(update_fields=("lease_until",))


def import_fail(job_id: int, now: datetime, error: str) -> None:
    """End an import that cannot go on."""
    with transaction.atomic():
        job = _locked(job_id)
        if job is not None:
            import_end(job, ImportJob.State.FAILED, now, error)


def import_end(job: ImportJob, state: str, now: datetime, error: str = "", *names: str) -> bool:
    """End an import that is in hand, or locked, with the fields ``names``; False, as nothing is left to do. Raises
    ``LeaseLost``."""
    with transaction.atomic():  # never a source that is said to be read still, with a job that has ended
        job_finish(job, state, now, error, *names)
        import_over(job, now)
    return False


def import_over(job: ImportJob, now: datetime) -> None:
    """The import has ended: nothing of it can be taken, and its source is not read any more."""
    job.ranges.all().delete()
    source = job.source
    source_counters_update(source)
    source.state = Source.State.FAILED if job.state == ImportJob.State.FAILED else Source.State.READY
    source.error, source.updated_at = job.error, now
    source.save(update_fields=("state", "error", "updated_at"))


def source_counters_update(source: Source) -> None:
    """Count what the source has in the mirror."""
    counts = Session.objects.filter(source=source, missing_since=None).aggregate(
        total=Count("pk"), imported=Count("pk", filter=Q(imported_at__isnull=False)), parts=Sum("part_count")
    )
    source.sessions_total, source.sessions_imported = counts["total"], counts["imported"]
    source.parts_imported = counts["parts"] or 0
    source.save(update_fields=("sessions_total", "sessions_imported", "parts_imported"))


def hands_wanted(*, job_id: int, now: datetime) -> int:
    """How many chunks of an import should wait for a worker: one for each that has none of it in hand, while there is
    something to take."""
    job = ImportJob.objects.filter(pk=job_id, state__in=ImportJob.ACTIVE).first()
    if job is None or job.started_at is None:
        return int(job is not None)
    in_hand = job.ranges.filter(lease_until__gt=now).count()
    return min(job.ranges.filter(free(now)).count(), max(1, workers_alive(now=now) - in_hand))


def imports_begun() -> list[int]:
    """Imports that are shared out."""
    begun = ImportJob.objects.filter(state__in=ImportJob.ACTIVE, started_at__isnull=False)
    return list(begun.values_list("pk", flat=True))


def ranges_free(job: ImportJob) -> None:
    """Nobody has anything of this import in hand any more, whatever the leases say."""
    job.ranges.update(lease_until=None)


def _locked(job_id: int) -> ImportJob | None:
    """The import, where it is not over. Others wait for this transaction (PostgreSQL)."""
    return ImportJob.objects.select_for_update().filter(pk=job_id, state__in=ImportJob.ACTIVE).first()


def _add(job: ImportJob, made: Progress) -> None:
    job.done += made.done
    job.failed += made.failed
    job.parts += made.parts


def _alive(job: ImportJob, now: datetime, *names: str) -> None:
    """Somebody works on it."""
    job.lease_until, job.heartbeat_at = now + LEASE, now
    job.save(update_fields=("lease_until", "heartbeat_at", *names))
