"""A source's database slimmed in its place, in the background, and the old file deleted when somebody says so."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from sessions_app.models import SlimJob, Source
from sessions_app.stores.base import StoreError
from sessions_app.stores.replacing import kept_forget

from .audit import source_audit
from .jobs import Clock, LeaseLost, job_cancel, job_finish, job_keep, job_run
from .repair.refusal import RepairRefused, refusing
from .slimming import Preview, file_slim, slim_preview

_TOLD_EACH = 1.0
"""Seconds between two notes of progress."""


class _Stopped(Exception):
    """Somebody wants it to stop."""


def source_slim_preview(*, source: Source, now: datetime, keep_days: int = 0) -> Preview:
    """What slimming the source's database would free, estimated where it is large. Raises ``RepairRefused``."""
    _database_only(source)
    with refusing():
        return slim_preview(path=Path(source.file), now=now, keep_days=keep_days, progress=lambda *_: None)


def source_slim(*, source: Source, actor: str, now: datetime, face: str = "web", keep_days: int = 0) -> SlimJob:
    """Begin: the caller enqueues it. A slimming of the source that is under way is given back instead. Raises
    ``RepairRefused``."""
    _database_only(source)
    active = SlimJob.objects.filter(source=source, state__in=SlimJob.ACTIVE).first()
    return active or SlimJob.objects.create(source=source, actor=actor, face=face, created_at=now, keep_days=keep_days)


def source_slim_cancel(*, job: SlimJob, now: datetime) -> bool:
    """Have it stop; the store is as it was. Whether there was something to stop."""
    return job_cancel(job, now)


def source_forget_old(*, source: Source, actor: str, now: datetime, face: str = "web") -> int:
    """Delete the old files that slimming kept beside the source's database, for good; their bytes."""
    gone = kept_forget(Path(source.file))
    if gone:
        size = sum(size for _, size in gone)
        source_audit(action="source.old-forgotten", source=source, actor=actor, face=face, now=now, bytes=size)
    return sum(size for _, size in gone)


def slim_run(*, job_id: int, clock: Clock) -> bool:
    """All of it at once; a killed worker leaves the store as it was, and another one begins again."""
    return job_run(SlimJob, job_id, clock, lambda job: _run(job, clock))


def _run(job: SlimJob, clock: Clock) -> bool:
    job.started_at = clock()
    told = _Told(job, clock)
    told.now()
    source, now = job.source, clock()
    try:
        done = file_slim(
            path=Path(source.file), output=None, now=now, keep_days=job.keep_days, progress=told.progress, at=told.at
        )
    except (StoreError, _Stopped) as problem:
        if told.lost:
            raise LeaseLost from problem
        if told.stopped:
            return job_finish(job, SlimJob.State.CANCELLED, clock())
        words = f"{problem.words} {problem.next_step}".strip() if isinstance(problem, StoreError) else str(problem)
        return job_finish(job, SlimJob.State.FAILED, clock(), words)
    job.report = done.document()
    source_audit(
        action="source.slimmed",
        source=source,
        actor=job.actor,
        face=job.face,
        now=clock(),
        removed=done.removed,
        before=done.before,
        after=done.after,
        kept=done.kept,
    )
    return job_finish(job, SlimJob.State.DONE, clock(), "", "report")


class _Told:
    """Progress noted about once a second, which also holds the lease and hears of a cancel. Within a statement of
    SQLite nothing can be raised: what was heard there is told at the next step."""

    def __init__(self, job: SlimJob, clock: Clock) -> None:
        self.job, self.clock = job, clock
        self.noted = 0.0
        self.stopped = self.lost = False

    def progress(self, words: str, done: int, total: int) -> None:
        self.job.words, self.job.done, self.job.total = words, done, total
        if time.monotonic() - self.noted > _TOLD_EACH:
            self.now()

    def now(self) -> None:
        self.noted = time.monotonic()
        try:
            self.stopped = job_keep(self.job, self.clock(), "started_at", "words", "done", "total")
        except LeaseLost:
            self.lost = True
        if self.stopped or self.lost:
            raise _Stopped

    def at(self, step: str) -> None:
        """Until the old file is locked it can be stopped."""
        if step in ("surveyed", "copied", "checked"):
            self.now()


def _database_only(source: Source) -> None:
    if source.kind != Source.Kind.SQLITE:
        raise RepairRefused("form", "Only a database can be slimmed; this source is none.")
