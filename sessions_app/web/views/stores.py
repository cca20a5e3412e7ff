"""A source as a whole: damage and recovery, rows that belong nowhere, hidden sessions, sessions brought into another
store; and the relink of one session. Each address shows what would be done (GET), or does it (POST)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app import tasks
from sessions_app.domain.handback.relink import Move, relink_operations
from sessions_app.domain.repair import OperationError
from sessions_app.domain.wish import Wish
from sessions_app.models import Source
from sessions_app.selectors.rows import session_rows
from sessions_app.services.actor import Actor
from sessions_app.services.attachable import AttachRefused, attachable_path
from sessions_app.services.handback.recovery import path_recover, recovered_words, source_recover
from sessions_app.services.handback.relinking import instead, session_unlisted
from sessions_app.services.handback.storereport import hidden_counts, hidden_sessions, store_report
from sessions_app.services.handback.wholesource import source_adopt, source_relink, source_tidy
from sessions_app.services.keeping import backups_kept, restore_points
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.sourcedoctor import source_checkup
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
    load_session,
    whole,
)
from sessions_app.web.shell import session_shell
from sessions_app.web.storebar import space_bar

_POINTS = 50
"""Restore points on the page; ``suture repairs PATH`` lists them all."""


def _source(source_id: int) -> Source:
    found = Source.objects.filter(pk=source_id).first()
    if found is None:
        raise Http404("There is no such store here. It may have been deleted.")
    return found


@require_GET
@allowed(VIEW)
def store(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    return _page(request, _source(source_id))


def _page(request: HtmxRequest, source: Source, status: int = 200, **more: object) -> HttpResponse:
    others = Source.objects.filter(kind=Source.Kind.SQLITE).exclude(pk=source.pk).order_by("name")
    context: dict[str, Any] = {
        "section": "sources",
        "source": source,
        "may_repair": request.user.has_perm(REPAIR),
        "may_add": request.user.has_perm(SOURCES),
        "counts": hidden_counts(source=source),
        "hidden": [(one, reasons, instead(reasons)) for one, reasons in hidden_sessions(source=source)],
        "backups": backups_kept(Path(source.file)),
        "points": restore_points(clock(), Path(source.file))[:_POINTS],
        "others": [(other.pk, f"{other.name} ({other.path})") for other in others],
    }
    try:
        with source.open_store() as opened:
            report = store_report(store=opened)
            checkup = source_checkup(source=source, store=opened, report=report)
            context |= {"report": report, "checkup": checkup, "bar": space_bar(checkup.space)}
    except StoreError as problem:
        context["problem"] = f"{problem.words} {problem.next_step}".strip()
    return render(request, "sources/store.html", context | more, status=status)


@require_POST
@allowed(SOURCES)
def recover(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """Save what can be saved into a new file, which becomes a source of its own."""
    source = _source(source_id)
    try:
        found, job, result = source_recover(source=source, actor=actor(request), now=clock(), face=FACE)
    except StoreError as problem:
        return _page(request, source, 422, failed=f"{problem.words} {problem.next_step}".strip())
    tasks.job_enqueue(job)
    messages.success(request, " ".join(recovered_words(result)))
    return redirect("sessions_app:source", found.pk)


@require_POST
@allowed(SOURCES)
def recover_path(request: HtmxRequest) -> HttpResponseBase:
    """The same for a file of this machine that is too damaged to be attached."""
    try:
        path = attachable_path(request.POST.get("path", "").strip())
        found, job, result = path_recover(path=path, name=path.name, actor=actor(request), now=clock(), face=FACE)
    except (AttachRefused, StoreError) as refusal:
        messages.error(request, f"Not recovered. {refusal}", extra_tags="blocked")
        return redirect("sessions_app:sources")
    tasks.job_enqueue(job)
    messages.success(request, " ".join(recovered_words(result)))
    return redirect("sessions_app:source", found.pk)


@require_POST
@allowed(REPAIR)
def tidy(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """Take rows that belong to no session out of the store."""
    source = _source(source_id)
    try:
        repair, count = source_tidy(source=source, actor=actor(request), now=clock(), face=FACE)
    except RepairRefused as refusal:
        return _page(request, source, 409, failed=refusal.words)
    words = (
        f"{count} rows were taken out. Take it back with: suture undo {repair}"
        if repair
        else "There was nothing to take out."
    )
    messages.success(request, words)
    return redirect("sessions_app:source-store", source_id)


@require_http_methods(["GET", "POST"])
@allowed(REPAIR)
def adopt(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """Bring the source's sessions into another source's database: what would come (GET), and doing it (POST)."""
    source = _source(source_id)
    query = request.POST if request.method == "POST" else request.GET
    into = Source.objects.filter(pk=whole(query.get("into")) or 0).first()
    if into is None:
        return _page(request, source, 422, failed="Choose the store to bring them into.")
    ids = query.getlist("session")[:10_000]
    try:
        outcomes, job = source_adopt(
            source=source,
            into=into,
            session_ids=ids,
            actor=actor(request),
            now=clock(),
            face=FACE,
            dry_run=request.method == "GET",
        )
    except RepairRefused as refusal:
        return _page(request, source, 409, failed=refusal.words)
    if job is not None:
        tasks.job_enqueue(job)
    return _page(request, source, outcomes=outcomes, ids=ids, into=into, dry_run=request.method == "GET")


@require_http_methods(["GET", "POST"])
@allowed(REPAIR)
def relink_folder(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """File all sessions of a folder that was moved: what would change (GET), and doing it (POST)."""
    source = _source(source_id)
    query = request.POST if request.method == "POST" else request.GET
    folders = {"old": query.get("from", "").strip()[:4096], "new": query.get("to", "").strip()[:4096]}
    try:
        report, job = source_relink(
            source=source,
            move=Move.of(**folders),
            actor=actor(request),
            now=clock(),
            face=FACE,
            dry_run=request.method == "GET",
        )
    except (OperationError, RepairRefused) as refusal:
        status = 409 if isinstance(refusal, RepairRefused) else 422
        return _page(request, source, status, failed=str(refusal), folders=folders)
    if job is not None:
        tasks.job_enqueue(job)
    return _page(request, source, relinked=report.document(), folders=folders)


@require_http_methods(["GET", "POST"])
@allowed(VIEW)
def relink(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """File one session where its client looks for it."""
    return _relink_apply(request, session_id) if request.method == "POST" else _relink_page(request, session_id)


def _relink_page(request: HtmxRequest, session_id: int, refused: str = "") -> HttpResponse:
    session = load_session(session_id)
    query = request.POST if request.method == "POST" else request.GET
    directory = query.get("directory", "").strip()[:4096]
    rows = session_rows(session)
    after: dict[str, Any] = {}
    problem = ""
    unlisted = session_unlisted(session=session)
    try:
        for operation in relink_operations(rows, directory) if not unlisted else ():
            after.update(operation.columns)
    except OperationError as fault:
        problem = str(fault)
    shown = directory or after.get("directory") or rows.session.get("directory") or ""
    context = session_shell(request, session_id, "details") | {
        "directory": shown,
        "change": {
            "columns": [(column, rows.session.get(column), value) for column, value in after.items()],
            "directory": shown,
            "hash": session.rows_hash,
            "may_repair": request.user.has_perm(REPAIR),
        },
        "problem": problem,
        "refused": refused,
        "unlisted": unlisted,
        "reasons": session.findings.filter(rule__startswith="hidden-"),
    }
    return render(request, "sessions/relink.html", context, status=409 if refused else 422 if problem else 200)


@allowed(REPAIR)
def _relink_apply(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    if why := session_unlisted(session=session):
        return _relink_page(request, session_id, why)
    try:
        operations = relink_operations(session_rows(session), request.POST.get("directory", "").strip()[:4096])
        if not operations:
            return _relink_page(request, session_id, "It is filed where its client looks for it.")
        made = repair_apply(
            session=session,
            wish=Wish(operations=operations),
            actor=Actor(actor(request), FACE, "relink"),
            now=clock(),
            expected_hash=request.POST.get("hash", "")[:64],
        )
    except OperationError as fault:
        return _relink_page(request, session_id, str(fault))
    except RepairRefused as refusal:
        return _relink_page(request, session_id, refusal.words)
    return redirect(f"{reverse('sessions_app:session', args=[session_id])}?outcome={made.public_id}")
