"""Sources: attach, upload, progress, sync, delete."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh

from sessions_app import stores, tasks
from sessions_app.models import ImportJob, Session, Source, SourceProblem
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.sources import source_found_paths, source_rows, source_standing
from sessions_app.services import importing
from sessions_app.services.attachable import AttachRefused, attachable_path
from sessions_app.services.attaching import path_attach
from sessions_app.services.handback.forms import HANDBACK
from sessions_app.services.handback.storewide import stuck_count, whole_forms_of
from sessions_app.services.uploading import source_upload
from sessions_app.stores.base import StoreError
from sessions_app.web.http import (
    FACE,
    REPAIR,
    SOURCES,
    VIEW,
    HtmxRequest,
    actor,
    allowed,
    clock,
    page_number,
    page_rows,
)
from sessions_app.web.jobs import nobody_works, pace
from sessions_app.web.pager import step_pager
from sessions_app.web.pills import health_pills
from sessions_app.web.present import counted
from sessions_app.web.standing import standing, ways_out

_LOOKING = 0.5
"""Seconds for what the files of the list hold."""
LATE = timedelta(seconds=30)
"""A job that nobody has worked on for so long is said to wait."""


@require_GET
@allowed(VIEW)
def sources(request: HtmxRequest) -> HttpResponseBase:
    return render(request, "sources/list.html", _page(request))


def _page(request: HtmxRequest, **more: object) -> dict[str, object]:
    rows = source_rows(seconds=_LOOKING)
    return {
        "section": "sources",
        "sources": rows,
        "adding": not rows or bool(more.keys() & {"attach", "upload_problem"}),
        "may_add": request.user.has_perm(SOURCES),
        "may_attach": bool(settings.SUTURE_ATTACH_ROOTS),
        "found": source_found_paths(stores.discover()) if settings.SUTURE_ATTACH_ROOTS else (),
        "upload_limit": settings.SUTURE_UPLOAD_LIMIT,
        **more,
    }


@require_POST
@allowed(SOURCES)
def attach(request: HtmxRequest) -> HttpResponseBase:
    """Attach a path of this machine: a store, or each database of a folder."""
    text = request.POST.get("path", "").strip()
    try:
        attached = path_attach(path=attachable_path(text), actor=actor(request), now=clock(), face=FACE)
    except (AttachRefused, StoreError) as refusal:
        problem = _words(refusal)
        return render(
            request,
            "sources/list.html",
            _page(
                request,
                attach={
                    "path": text,
                    "problem": problem,
                    "recoverable": isinstance(refusal, StoreError) and refusal.kind == "corrupt",
                },
            ),
            status=422,
        )
    for _, job in attached.sources:
        tasks.job_enqueue(job)
    for words in attached.passed_over:
        messages.warning(request, f"Passed over: {words}", extra_tags="risk")
    if len(attached.sources) > 1:
        messages.success(request, f"Attached {counted(len(attached.sources), 'database')} of the folder.")
        return redirect("sessions_app:sources")
    return redirect("sessions_app:source", attached.sources[0][0].pk)


@require_POST
@allowed(SOURCES)
def upload(request: HtmxRequest) -> HttpResponseBase:
    """Take a file (and the ``-wal`` that belongs to a database) into the data directory and read it there."""
    file = request.FILES.get("file")
    if file is None:
        return render(request, "sources/list.html", _page(request, upload_problem="Choose a file first."), status=422)
    try:
        source, job = source_upload(
            file=cast("BinaryIO", file),
            name=file.name or "upload",
            wal=cast("BinaryIO | None", request.FILES.get("wal")),
            actor=actor(request),
            now=clock(),
            face=FACE,
        )
    except StoreError as refusal:
        problem = _words(refusal)
        return render(request, "sources/list.html", _page(request, upload_problem=problem), status=422)
    tasks.job_enqueue(job)
    return redirect("sessions_app:source", source.pk)


def _words(refusal: Exception) -> str:
    if isinstance(refusal, StoreError):
        return f"{refusal.words} {refusal.next_step}".strip()
    return str(refusal)


def _source(source_id: int) -> Source:
    found = Source.objects.filter(pk=source_id).first()
    if found is None:
        raise Http404("There is no such store here. It may have been deleted.")
    return found


@require_GET
@allowed(VIEW)
def source(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """A source with the progress of its import; htmx asks for the progress each second until it ends."""
    found = _source(source_id)
    job = ImportJob.objects.filter(source=found).order_by("-id").first()
    running = job is not None and job.active
    state: dict[str, Any] = {
        "running": running,
        "late": job is not None and job.active and job.silence(clock()) > LATE,
        "nobody": running and nobody_works(clock()),
        "pace": pace(request.GET, job.done + job.failed, job.total, clock()) if job else None,
        "words": _read_words(job) if job else "",
    }
    context = {"section": "sources", "source": found, "job": job, "running": running, "state": state}
    if request.htmx and request.htmx.target == "progress":
        # At its end the whole page is new: the facts and the problems too.
        return render(request, "sources/detail.html#progress", context) if running else HttpResponseClientRefresh()
    state["verdict"] = None if running else _verdict(request, found)
    problems, number = SourceProblem.objects.filter(source=found).order_by("id"), page_number(request.GET)
    context["problems"], pages = page_rows(problems, number, 50)
    context["problem_count"] = problems.count()
    context["pager"] = step_pager(number, pages, label="Pages of problems", css="card-body")
    context["may_add"] = request.user.has_perm(SOURCES)
    may_take = not running and request.user.has_perm(REPAIR)  # the forms are written back, with keys unmasked
    context["exports"] = _exports(found) if may_take else []
    context["stuck"] = stuck_count(source=found)
    return render(request, "sources/detail.html", context)


def _read_words(job: ImportJob) -> str:
    if not (job.total or job.active):
        return "Nothing had changed." if job.kind == ImportJob.Kind.SYNC else "It holds no session."
    parts = f", {counted(job.parts, 'part')}" if job.parts else ""
    return f"{job.done:,} of {counted(job.total, 'session')} read and scanned{parts}."


def _verdict(request: HtmxRequest, found: Source) -> dict[str, Any]:
    """How its sessions stand, and what to press."""
    health, fates = source_standing(found.pk)
    wanted = SessionFilter(source=found.pk)
    to_repair = wanted.also(health=("blocked",), fate="safe").to_query()
    only = Session.objects.filter(source=found).values_list("pk", flat=True).first() if found.sessions_total == 1 else 0
    may_repair = bool(fates.get("safe")) and request.user.has_perm(REPAIR)
    return {
        "standing": standing(health),
        "ways_out": ways_out(fates),
        "pills": health_pills(health, reverse("sessions_app:sessions"), wanted),
        "safe": fates.get("safe", 0),
        "safe_url": f"{reverse('sessions_app:bulk')}?{to_repair}" if may_repair else "",
        "only_url": reverse("sessions_app:session", args=[only]) if only else "",
    }


def _exports(found: Source) -> list[tuple[str, str]]:
    address = reverse("api:source_export", args=[found.pk])
    return [(HANDBACK[form].title, f"{address}?as={form}") for form in whole_forms_of(found.kind)]


@require_POST
@allowed(SOURCES)
def sync(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    job = importing.source_sync(source=_source(source_id), actor=actor(request), now=clock(), face=FACE)
    tasks.job_enqueue(job)
    return redirect("sessions_app:source", source_id)


@require_POST
@allowed(SOURCES)
def reads(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """Say what the models of its sessions read."""
    found = _source(source_id)
    try:
        said = request.POST.get("input", "")
        new = importing.source_input_set(source=found, said=said, actor=actor(request), now=clock(), face=FACE)
    except ValueError as problem:
        messages.error(request, f"Nothing was changed. {problem}", extra_tags="risk")
        return redirect("sessions_app:source", source_id)
    if new:
        tasks.rescan_run.enqueue()
        messages.success(request, "Its sessions are judged again.")
    return redirect("sessions_app:source", source_id)


@require_POST
@allowed(SOURCES)
def cancel(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    job = ImportJob.objects.filter(source=_source(source_id), state__in=ImportJob.ACTIVE).first()
    if job is not None:
        importing.import_cancel(job=job, actor=actor(request), now=clock(), face=FACE)
    return redirect("sessions_app:source", source_id)


@require_POST
@allowed(SOURCES)
def delete(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """Forget an attached source, or delete an upload for good. The box has to be ticked."""
    found = _source(source_id)
    if request.POST.get("sure") != "yes":
        messages.error(request, "Not deleted: tick the box first.", extra_tags="risk")
        return redirect("sessions_app:source", source_id)
    importing.source_delete(source=found, actor=actor(request), now=clock(), face=FACE)
    messages.success(request, f"Deleted {found.name} and everything imported from it.")
    return redirect("sessions_app:sources")
