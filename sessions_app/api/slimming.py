"""A source's database slimmed in its place: what that frees, doing it, and deleting the old file."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from ninja.responses import Status
from pydantic import Field

from sessions_app.models import SlimJob
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.slimming import MOST_DAYS
from sessions_app.services.sourceslimming import (
    source_forget_old,
    source_slim,
    source_slim_cancel,
    source_slim_preview,
)
from sessions_app.tasks import job_enqueue

from .access import found, sources
from .auth import REPAIR, VIEW, actor, require
from .problems import ProblemOut
from .repairs import ERRORS, refused
from .schemas import Id, In, example

router = Router(tags=["stores"])


class SlimIn(In):
    """``keep_days``: events of so many days are kept in any case."""

    model_config = example(keep_days=7, dry_run=True)

    keep_days: int = Field(0, ge=0, le=MOST_DAYS)
    dry_run: bool = True


class LeftWholeOut(Schema):
    """A session whose events stay as they are, and why."""

    id: str
    why: str


class KeptFileOut(Schema):
    """An old file that a slimming kept."""

    path: str
    bytes: int


class SlimPreviewOut(Schema):
    """What slimming would free, in bytes. ``events`` and ``free``: what the event log and free pages hold now;
    ``strange``: events of the V2 line, which stay; ``sampled``: estimated, since the log is large. ``in_use`` says who
    has the file open; nothing is written then."""

    bytes: int
    events: int
    free: int
    freed: int
    after: int
    strange: int
    sampled: bool
    left_whole: list[LeftWholeOut]
    warnings: list[str]
    in_use: str
    kept: list[KeptFileOut]


class SlimmedOut(Schema):
    """What came of it: ``before`` and ``after`` in bytes; ``kept`` is where the old file is."""

    path: str
    before: int
    after: int
    events: int
    removed: int
    strange: int
    kept: str
    left_whole: list[LeftWholeOut]
    warnings: list[str]


class SlimJobOut(Schema):
    """A slimming in the background: ``done`` of ``total`` of what ``words`` name. ``report``: once it is done."""

    id: int
    source_id: int
    state: Literal["queued", "running", "done", "cancelled", "failed"]
    keep_days: int
    words: str
    total: int
    done: int
    percent: int
    error: str
    report: SlimmedOut | None
    created_at: dt.datetime
    finished_at: dt.datetime | None


class ForgottenOut(Schema):
    """How many bytes of old files were deleted."""

    bytes: int


@router.post(
    "sources/{number}/slim",
    response={200: SlimPreviewOut, 202: SlimJobOut, **ERRORS},
    summary="Slim a database in its place",
)
def source_slimmed(request: HttpRequest, number: Id, body: SlimIn) -> Any:
    """Superseded events and free pages go; everything else stays byte for byte, and the old file is kept. A dry run
    (200) unless told; else a job (202), to be looked at below the same address."""
    require(request, REPAIR)
    source = found(sources(request), pk=number)
    try:
        if body.dry_run:
            preview = source_slim_preview(source=source, now=timezone.now(), keep_days=body.keep_days)
            return Status(200, preview.document())
        job = source_slim(source=source, actor=actor(request), now=timezone.now(), face="api", keep_days=body.keep_days)
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    job_enqueue(job)
    job.refresh_from_db()
    return Status(202, _job(job))


@router.get(
    "sources/{number}/slim", response={200: SlimJobOut, 404: ProblemOut}, summary="The newest slimming of a source"
)
def source_slimming(request: HttpRequest, number: Id) -> Any:
    """How far it has come, and what came of it."""
    require(request, VIEW)
    return _job(_newest(request, number))


@router.post("sources/{number}/slim/cancel", response={200: SlimJobOut, 404: ProblemOut}, summary="Stop a slimming")
def source_slim_stopped(request: HttpRequest, number: Id) -> Any:
    """The store stays as it was."""
    require(request, REPAIR)
    job = _newest(request, number)
    source_slim_cancel(job=job, now=timezone.now())
    return _job(job)


@router.post(
    "sources/{number}/slim/forget", response={200: ForgottenOut, 404: ProblemOut}, summary="Delete kept old files"
)
def source_old_forgotten(request: HttpRequest, number: Id) -> Any:
    """For good: nothing goes back to what the store was before it was slimmed."""
    require(request, REPAIR)
    source = found(sources(request), pk=number)
    return {"bytes": source_forget_old(source=source, actor=actor(request), now=timezone.now(), face="api")}


def _newest(request: HttpRequest, number: int) -> SlimJob:
    job = SlimJob.objects.filter(source=found(sources(request), pk=number)).order_by("-pk").first()
    if job is None:
        raise Http404("This source was not slimmed yet.")
    return job


def _job(job: SlimJob) -> dict[str, Any]:
    names = ("id", "source_id", "state", "keep_days", "words", "total", "done", "percent", "error")
    times = {"created_at": job.created_at, "finished_at": job.finished_at}
    return {name: getattr(job, name) for name in names} | times | {"report": job.report or None}
