"""Background work: each task loads by id, calls one service, and enqueues itself while there is more.

Chunks are short and may be repeated, so a killed worker loses nothing: ``reap`` takes up what went silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from django.db import transaction
from django.tasks import task
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from sessions_app.domain.patience import unlimited
from sessions_app.models import Compaction, ImportJob, Job, RepairBatch, SlimJob
from sessions_app.services import (
    bulkrun,
    compacting,
    counting,
    importing,
    importranges,
    indexing,
    jobs,
    pruning,
    scanning,
    sourceslimming,
)
from sessions_app.services.repair import recover
from sessions_app.services.repair.write import journal_recover

SILENCE = timedelta(minutes=2)
"""A repair that was left half told for so long has lost its process."""


class Run(Protocol):
    """A chunk of a job; whether there is more to do."""

    def __call__(self, *, job_id: int, clock: jobs.Clock) -> bool: ...


KINDS: Mapping[type[Job], Run] = {
    ImportJob: importing.import_run,
    RepairBatch: bulkrun.bulk_run,
    Compaction: compacting.compaction_run,
    SlimJob: sourceslimming.slim_run,
}
"""Every kind of job, and the service that does a chunk of it."""
_RUNS = {kind.__name__: run for kind, run in KINDS.items()}


def job_enqueue(job: Job) -> None:
    """Have a job run, or go on, in the background once the present transaction is committed."""
    transaction.on_commit(lambda: job_run.enqueue(type(job).__name__, job.pk))


@task
def job_run(kind: str, job_id: int, **kwargs: Any) -> None:
    """A chunk of a job."""
    with unlimited():  # an immediate backend works within a request
        while _RUNS[kind](job_id=job_id, clock=timezone.now):
            if _deferred():
                _go_on(kind, job_id)
                return
    counting.days_keep(now=timezone.now())


@task
def rescan_run(**kwargs: Any) -> None:
    """A few seconds of scanning what older rules judged."""
    while scanning.stale_rescan(now=timezone.now()):
        if _deferred():
            rescan_run.enqueue()
            return


@task
def index_run(**kwargs: Any) -> None:
    """A few seconds of filling in what is searched and not in the index."""
    while indexing.index_fill():
        if _deferred():
            index_run.enqueue()
            return


def start(*, alone: bool) -> list[str]:
    """At worker start: settle interrupted writes, take up what lost its worker, judge again what older rules judged,
    index what is not yet.

    ``alone``: no other process works on this database, so nothing that looks unfinished is still being done. Returns
    what to tell.
    """
    told = journal_recover(now=timezone.now())
    recover.repairs_settle(now=timezone.now(), silence=timedelta(0) if alone else SILENCE)
    told += [f"Taken up again: {job}." for job in _take_up(alone=alone) if job.started_at]
    rescan_run.enqueue()
    index_run.enqueue()
    return told


def reap() -> None:
    """From time to time: settle and take up what has been silent for a while, have workers that are free help with
    imports; note how sessions stand today."""
    counting.days_keep(now=timezone.now())
    recover.repairs_settle(now=timezone.now(), silence=SILENCE)
    _take_up()
    for job_id in importranges.imports_begun() if _deferred() else ():
        _go_on(ImportJob.__name__, job_id)


def prune() -> None:
    """Once a day: delete what the settings no longer keep, count anew what is kept in counts, and put the index in
    order."""
    pruning.keeping_prune(now=timezone.now())
    counting.counts_recount()
    indexing.index_settle()


def _take_up(*, alone: bool = False) -> list[Job]:
    found = [job for kind in KINDS for job in jobs.jobs_abandoned(kind, timezone.now(), alone=alone)]
    for job in found:
        if isinstance(job, ImportJob):
            importranges.ranges_free(job)
        job_enqueue(job)
    return found


def _go_on(kind: str, job_id: int) -> None:
    """Enqueue the next chunk of a job; of an import, which workers share, one for each that is free."""
    wanted = 1
    if kind == ImportJob.__name__:
        args = {"args": [kind, job_id], "kwargs": {}}
        waiting = DBTaskResult.objects.ready().filter(task_path=job_run.module_path, args_kwargs=args).count()
        wanted = importranges.hands_wanted(job_id=job_id, now=timezone.now()) - waiting
    for _ in range(wanted):
        job_run.enqueue(kind, job_id)


def _deferred() -> bool:
    """The task backend runs tasks later; an immediate one would nest each chunk in the one before."""
    return job_run.get_backend().supports_get_result
