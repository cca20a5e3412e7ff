"""A store slimmed in its place: what that frees (GET), doing it in the background (POST), and deleting the old file."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from sessions_app import tasks
from sessions_app.models import SlimJob, Source
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.slimming import MOST_DAYS, Preview
from sessions_app.services.sourceslimming import (
    source_forget_old,
    source_slim,
    source_slim_cancel,
    source_slim_preview,
)
from sessions_app.web.http import FACE, REPAIR, HtmxRequest, actor, allowed, clock, wants_partial, whole
from sessions_app.web.jobs import nobody_works
from sessions_app.web.storebar import StoreBar, store_bar

_NAMED = 50
"""Sessions left whole that the page names."""


@require_http_methods(["GET", "POST"])
@allowed(REPAIR)
def slim(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """What would be freed, or how far it is (GET; htmx asks for the progress each second); begin it (POST)."""
    source = _source(source_id)
    if request.method == "POST":
        return _begin(request, source)
    job = SlimJob.objects.filter(source=source).order_by("-pk").first()
    if wants_partial(request, "progress"):
        if job is None or not job.active:
            return HttpResponseClientRefresh()
        return render(request, "sources/slim.html#progress", _running(source, job))
    return _page(request, source, job)


def _begin(request: HtmxRequest, source: Source) -> HttpResponseBase:
    days = whole(request.POST.get("keep_days") or "0")
    if request.POST.get("sure") != "yes" or days is None or days > MOST_DAYS:
        words = "Tick the box first." if days is not None and days <= MOST_DAYS else "That is no number of days."
        return _page(request, source, None, 422, failed=words)
    try:
        job = source_slim(source=source, actor=actor(request), now=clock(), face=FACE, keep_days=days)
    except RepairRefused as refusal:
        return _page(request, source, None, 409, failed=refusal.words)
    tasks.job_enqueue(job)
    return redirect("sessions_app:source-slim", source.pk)


def _page(
    request: HtmxRequest, source: Source, job: SlimJob | None, status: int = 200, failed: str = ""
) -> HttpResponse:
    context: dict[str, Any] = {"section": "sources", "source": source, "job": job, "failed": failed}
    if job is not None and job.active:
        return render(request, "sources/slim.html", context | _running(source, job))
    days = whole(request.GET.get("keep_days")) or 0
    try:
        preview = source_slim_preview(source=source, now=clock(), keep_days=min(days, MOST_DAYS))
    except RepairRefused as refusal:
        return render(request, "sources/slim.html", context | {"problem": refusal.words}, status=status)
    context |= {"preview": preview, "bar": _bar(preview), "named": preview.whole[:_NAMED], "keep_days": days}
    context["more"] = max(len(preview.whole) - _NAMED, 0)
    return render(request, "sources/slim.html", context, status=status)


def _running(source: Source, job: SlimJob) -> dict[str, Any]:
    return {"source": source, "job": job, "running": True, "nobody": nobody_works(clock())}


def _bar(preview: Preview) -> StoreBar:
    known = preview.sizes
    gone = preview.freed - known.free
    rest = max(known.file - known.events - known.free, 0)
    return store_bar(
        [
            ("calm", "Conversations, and what else is stored", rest),
            ("repaired", "Events that stay", max(known.events - gone, 0)),
            ("risk", "Superseded events", gone),
            ("healthy", "Free pages", known.free),
        ]
    )


@require_POST
@allowed(REPAIR)
def cancel(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    job = SlimJob.objects.filter(source=_source(source_id), state__in=SlimJob.ACTIVE).first()
    if job is not None and source_slim_cancel(job=job, now=clock()):
        messages.success(request, "It stops; the store stays as it was.")
    return redirect("sessions_app:source-slim", source_id)


@require_POST
@allowed(REPAIR)
def forget(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """Delete the old files that slimming kept."""
    source = _source(source_id)
    if request.POST.get("sure") != "yes":
        messages.error(request, "Not deleted: tick the box first.", extra_tags="risk")
        return redirect("sessions_app:source-slim", source_id)
    size = source_forget_old(source=source, actor=actor(request), now=clock(), face=FACE)
    messages.success(request, f"Deleted: {filesizeformat(size)} are free now.")
    return redirect("sessions_app:source-slim", source_id)


def _source(source_id: int) -> Source:
    found = Source.objects.filter(pk=source_id).first()
    if found is None:
        raise Http404("There is no such source here. It may have been deleted.")
    return found
