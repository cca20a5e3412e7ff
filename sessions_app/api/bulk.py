"""Bulk repairs."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router
from ninja.responses import Status

from sessions_app.domain.wish import Wish
from sessions_app.models import RepairBatch
from sessions_app.selectors.bulk import batch_document, report_csv, report_rows
from sessions_app.selectors.filters import SessionFilter
from sessions_app.services.bulk import (
    BulkNothing,
    BulkRefused,
    Selection,
    bulk_cancel,
    bulk_retry,
    bulk_start,
    bulk_undo,
)
from sessions_app.services.bulkpreview import bulk_preview
from sessions_app.tasks import job_enqueue

from .access import found, sessions
from .auth import REPAIR, VIEW, actor, require, token_of
from .masking import shown
from .paging import PageNumber, PerPage, page_of
from .problems import Problem, ProblemOut
from .schemas import BulkIn, BulkOut, BulkPage, BulkPreviewOut, SelectionIn

router = Router(tags=["bulk"])

ERRORS = dict.fromkeys((404, 409, 422), ProblemOut)


@router.get("bulk", response=BulkPage, summary="List bulk repairs")
def bulk_list(request: HttpRequest, page: PageNumber = 1, per_page: PerPage = 50) -> Any:
    """Batches, newest first."""
    require(request, VIEW)
    return page_of(request, _batches(request).order_by("-id"), page, per_page, batch_document)


@router.post("bulk", response={200: BulkPreviewOut, 202: BulkOut, **ERRORS}, summary="Repair many sessions")
def bulk_create(request: HttpRequest, body: BulkIn) -> Any:
    """Start repairing in the background (202), or say what would happen (200, with dry_run)."""
    require(request, REPAIR)
    selection = _reached(request, _selection(body))
    wish = Wish.of(rules=body.rules, findings=body.findings, choices=body.choices, safety=body.safety, force=body.force)
    now = timezone.now()
    if body.dry_run:
        return Status(200, bulk_preview(selection=selection, wish=wish, now=now, samples=0))
    try:
        batch = bulk_start(
            selection=selection,
            wish=wish,
            stop_on_failure=body.stop_on_failure,
            reason=body.reason,
            actor=actor(request),
            face="api",
            now=now,
        )
    except BulkRefused as refusal:
        raise _refused(refusal) from refusal
    return _going(batch)


@router.get("bulk/{number}", response={200: BulkOut, 404: ProblemOut}, summary="One bulk repair")
def bulk_get(request: HttpRequest, number: uuid.UUID) -> Any:
    """State and progress of a batch."""
    require(request, VIEW)
    return batch_document(_batch(request, number))


@router.get(
    "bulk/{number}/report",
    response={200: list[dict[str, Any]], 404: ProblemOut},
    summary="What came of each session",
)
def bulk_report(
    request: HttpRequest,
    number: uuid.UUID,
    form: Annotated[Literal["json", "csv"], Query(alias="as")] = "json",
) -> Any:
    """A row per session: outcome, repair, rules, changes, why. ``as=csv`` gives a table."""
    require(request, VIEW)
    batch = _batch(request, number)
    if form == "csv":
        return HttpResponse(shown(request, report_csv(batch)), content_type="text/csv; charset=utf-8")
    return list(report_rows(batch))


@router.post("bulk/{number}/cancel", response={200: BulkOut, **ERRORS}, summary="Cancel a bulk repair")
def bulk_stop(request: HttpRequest, number: uuid.UUID) -> Any:
    """Stop after the session in hand; what is done stays and can be undone."""
    require(request, REPAIR)
    batch = _batch(request, number)
    try:
        bulk_cancel(batch=batch, actor=actor(request), face="api", now=timezone.now())
    except BulkRefused as refusal:
        raise _refused(refusal) from refusal
    return batch_document(_batch(request, number))


@router.post("bulk/{number}/undo", response={202: BulkOut, **ERRORS}, summary="Undo a bulk repair")
def bulk_take_back(request: HttpRequest, number: uuid.UUID) -> Any:
    """Take all its repairs back in the background, the last first."""
    require(request, REPAIR)
    batch = _batch(request, number)
    try:
        bulk_undo(batch=batch, actor=actor(request), face="api", now=timezone.now())
    except BulkRefused as refusal:
        raise _refused(refusal) from refusal
    return _going(batch)


@router.post("bulk/{number}/retry", response={202: BulkOut, **ERRORS}, summary="Retry what failed")
def bulk_again(request: HttpRequest, number: uuid.UUID) -> Any:
    """A new batch over the sessions that failed, with the same options."""
    require(request, REPAIR)
    try:
        batch = bulk_retry(batch=_batch(request, number), actor=actor(request), face="api", now=timezone.now())
    except BulkRefused as refusal:
        raise _refused(refusal) from refusal
    return _going(batch)


def _refused(refusal: BulkRefused) -> Problem:
    return Problem(409, str(refusal), kind="nothing" if isinstance(refusal, BulkNothing) else "state")


def _batches(request: HttpRequest) -> QuerySet[RepairBatch]:
    """Those whose every session the caller reaches."""
    token = token_of(request)
    if token is None or token.all_sources:
        return RepairBatch.objects.all()
    reached = set(sessions(request).values_list("pk", flat=True))
    known = RepairBatch.objects.values_list("pk", "session_ids")
    return RepairBatch.objects.filter(pk__in=[batch for batch, ids in known.iterator() if reached.issuperset(ids)])


def _batch(request: HttpRequest, number: uuid.UUID) -> RepairBatch:
    return found(_batches(request), public_id=number)


def _going(batch: RepairBatch) -> Status[dict[str, Any]]:
    job_enqueue(batch)
    batch.refresh_from_db()
    return Status(202, batch_document(batch))


def _reached(request: HttpRequest, selection: Selection) -> Selection:
    """The same, of the sources of the caller's token; an id beyond them is a 404."""
    token = token_of(request)
    if token is None or token.all_sources:
        return selection
    reached = set(sessions(request).values_list("pk", flat=True))
    for number in selection.ids:
        if number not in reached:
            raise Problem(404, f"There is no session with number {number}.")
    return Selection(ids=tuple(key for key in selection.query().values_list("pk", flat=True) if key in reached))


def _selection(body: SelectionIn) -> Selection:
    if (body.filter is None) == (body.ids is None):
        raise Problem(422, "Name the sessions either by filter or by ids.")
    if body.ids is not None:
        return Selection(ids=tuple(dict.fromkeys(body.ids)))
    return Selection(filter=SessionFilter.understood(body.filter or {}))
