"""Background work: each task loads by id, calls one service, and enqueues itself while there is more.

Chunks are short and may be repeated, so a killed worker loses nothing: ``reap`` takes up what went silent.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.tasks import task
from django.utils import timezone

from sessions_app.models import Compaction, ImportJob, RepairBatch
from sessions_app.services import bulkrun, compacting, importing, scanning
from sessions_app.services.repair import recover

SILENCE = timedelta(minutes=2)
"""A job without a heartbeat for so long has lost its worker."""


def import_enqueue(job: ImportJob) -> None:
    """Have the job run in the background once the present transaction is committed."""
    transaction.on_commit(lambda: import_run.enqueue(job.pk))


@task
def import_run(job_id: int, **kwargs: Any) -> None:
    """A few seconds of an import."""
    while importing.source_import(job_id=job_id, clock=timezone.now):
        if _deferred():
            import_run.enqueue(job_id)
            return


@task
def rescan_run(**kwargs: Any) -> None:
    """A few seconds of scanning what older rules judged."""
    while scanning.stale_rescan(now=timezone.now()):
        if _deferred():
            rescan_run.enqueue()
            return


def bulk_enqueue(batch: RepairBatch) -> None:
    """Have the batch go on (or its undo) in the background once the present transaction is committed."""
    transaction.on_commit(lambda: bulk_run.enqueue(batch.pk))


@task
def bulk_run(batch_id: int, **kwargs: Any) -> None:
    """A chunk of a bulk repair or of its undo."""
    while bulkrun.bulk_run_chunk(batch_id=batch_id, clock=timezone.now):
        if _deferred():
            bulk_run.enqueue(batch_id)
            return


def compaction_enqueue(job: Compaction) -> None:
    """Have the summary made in the background once the present transaction is committed."""
    transaction.on_commit(lambda: compaction_run.enqueue(job.pk))


@task
def compaction_run(job_id: int, **kwargs: Any) -> None:
    """A piece of a summary."""
    while compacting.compaction_run(compaction_id=job_id, clock=timezone.now):
        if _deferred():
            compaction_run.enqueue(job_id)
            return


def start(*, alone: bool) -> list[str]:
    """At worker start: settle interrupted writes, take up what lost its worker, judge again what older rules judged.

    ``alone``: no other process works on this database, so nothing that looks unfinished is still being done. Returns
    what to tell.
    """
    silence = timedelta(0) if alone else SILENCE
    told = [*recover.journal_recover(now=timezone.now()), *_settle(timezone.now(), silence)]
    for batch in bulkrun.bulk_unfinished(now=timezone.now(), alone=alone):
        bulk_run.enqueue(batch)
        told.append(f"Bulk repair {batch} is taken up again.")
    for job in compacting.compactions_abandoned(now=timezone.now(), alone=alone):
        compaction_run.enqueue(job)
    rescan_run.enqueue()
    return told


def reap() -> None:
    """From time to time: settle and take up what has been silent for a while."""
    _settle(timezone.now(), SILENCE)
    for batch in bulkrun.bulk_abandoned(now=timezone.now()):
        bulk_run.enqueue(batch)
    for job in compacting.compactions_abandoned(now=timezone.now()):
        compaction_run.enqueue(job)


def _settle(now: datetime, silence: timedelta) -> list[str]:
    recover.repairs_settle(now=now, silence=silence)
    told = []
    for job in importing.imports_reap(now=now, silence=silence):
        import_run.enqueue(job.pk)
        told.append(f"The import of {job.source.name} is taken up again.")
    return told


def _deferred() -> bool:
    """The task backend runs tasks later; an immediate one would nest each chunk in the one before."""
    return import_run.get_backend().supports_get_result
