"""The provider tab of a session: probes and compactions. Host and size are shown first; nothing is sent without a
click."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal, cast

from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from sessions_app import tasks
from sessions_app.models import Compaction, Probe, Session
from sessions_app.services import compacting, probing
from sessions_app.services.actor import Actor
from sessions_app.services.probing import ProbeOptions, ProbeRefused
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.web import present
from sessions_app.web.http import (
    FACE,
    REPAIR,
    VIEW,
    HtmxRequest,
    actor,
    allowed,
    clock,
    given_out,
    load_session,
    page_number,
    page_rows,
    wants_partial,
)
from sessions_app.web.pager import step_pager
from sessions_app.web.shell import session_shell

LATE = timedelta(minutes=1)
STOP_POLLING = 286
"""The status by which htmx stops asking."""
THINKING = ("auto", "on", "off")


@require_GET
@allowed(VIEW)
def provider(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    job = Compaction.objects.filter(session=session).select_related("repair").first()
    if wants_partial(request, "summary"):
        context = {"session": session, "job": job, **_progress(request, job)}
        done = job is None or not job.active
        return render(request, "sessions/provider.html#summary", context, status=STOP_POLLING if done else 200)
    return _page(request, session, job)


def _page(
    request: HtmxRequest, session: Session, job: Compaction | None, refused: str = "", status: int = 200
) -> HttpResponse:
    options = _options(request.POST if request.method == "POST" else request.GET)
    number = page_number(request.GET)
    probes, pages = page_rows(Probe.objects.filter(session=session), number, 20)
    context = session_shell(request, session.pk, "provider") | {
        "options": options,
        "thinking_choices": THINKING,
        "probe": _probe(session, options),
        "probes": probes,
        "pager": step_pager(number, pages, label="Pages of answers", css="card-body"),
        "job": job,
        "refused": refused,
        "may_send": request.user.has_perm(REPAIR),
        **_compaction(session, options),
        **_progress(request, job),
    }
    return render(request, "sessions/provider.html", context, status=status)


def _kinds(options: ProbeOptions) -> list[present.Segment]:
    """What is sent, as links."""
    stored = _query(ProbeOptions(options.target, options.thinking))
    repaired = _query(ProbeOptions(options.target, options.thinking, as_stored=False))
    return [
        present.Segment("As stored", f"?{stored}", options.as_stored),
        present.Segment("As repaired", f"?{repaired}", not options.as_stored),
    ]


def _probe(session: Session, options: ProbeOptions) -> dict[str, Any]:
    """What a probe would send, or why nothing can be sent."""
    found: dict[str, Any] = {
        "kinds": _kinds(options),
        "payload_url": f"{reverse('sessions_app:provider-payload', args=[session.pk])}?{_query(options)}",
    }
    try:
        found["prepared"] = probing.session_prepare(session=session, options=options, now=clock())
    except ProbeRefused as refusal:
        found["problem"] = refusal.words
    return found


def _compaction(session: Session, options: ProbeOptions) -> dict[str, Any]:
    """What a compaction would send, or why nothing can be."""
    try:
        ready = compacting.session_compaction_prepare(
            session=session, now=clock(), target=options.target, thinking=options.thinking
        )
    except ProbeRefused as refusal:
        return {"not_compactable": refusal.words}
    return {"ready": ready}


def _progress(request: HtmxRequest, job: Compaction | None) -> dict[str, Any]:
    if job is None:
        return {}
    late = job.active and job.silence(clock()) > LATE
    preview = None
    if job.state == Compaction.State.READY:
        preview = compacting.compaction_preview(job=job, now=clock())
    return {"late": late, "preview": preview, "may_send": request.user.has_perm(REPAIR)}


@require_GET
@allowed(VIEW)
def payload(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """The very bytes that a probe would send; keys in them are masked for who may not send them."""
    session = load_session(session_id)
    try:
        prepared = probing.session_prepare(session=session, options=_options(request.GET), now=clock())
    except ProbeRefused as refusal:
        return HttpResponse(refusal.words, status=409, content_type="text/plain; charset=utf-8")
    response = HttpResponse(_given(request, prepared.request, session), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="probe-{prepared.target.protocol}.json"'
    return response


def _given(request: HtmxRequest, sent: bytes, session: Session) -> bytes:
    return given_out(request, sent.decode("utf-8", "surrogateescape"), session).encode("utf-8", "surrogateescape")


@require_POST
@allowed(REPAIR)
def probe(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Send what was shown, and nothing else."""
    session, options = load_session(session_id), _options(request.POST)
    digest = request.POST.get("digest", "")
    try:
        if not digest:
            raise ProbeRefused("changed", "Nothing was sent: look at what would be sent first.")
        probing.probe_run(
            session=session,
            options=options,
            actor=Actor(actor(request), FACE),
            now=clock(),
            expected_digest=digest,
        )
    except ProbeRefused as refusal:
        return _page(request, session, _latest(session), refusal.words, status=409)
    return _back(session_id, options)


@require_POST
@allowed(REPAIR)
def compact(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Have a summary made in the background."""
    session, options = load_session(session_id), _options(request.POST)
    try:
        job = compacting.compaction_start(
            session=session,
            actor=Actor(actor(request), FACE),
            now=clock(),
            target=options.target,
            thinking=options.thinking,
        )
    except ProbeRefused as refusal:
        return _page(request, session, _latest(session), refusal.words, status=409)
    tasks.job_enqueue(job)
    return _back(session_id, options, "#summary")


@require_POST
@allowed(REPAIR)
def cancel(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    job = _latest(load_session(session_id))
    if job is None:
        raise Http404("There is no summary of this session.")
    compacting.compaction_cancel(job=job, now=clock())
    return _back(session_id, _options(request.POST), "#summary")


@require_POST
@allowed(REPAIR)
def apply(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Write the summary that was looked at."""
    session = load_session(session_id)
    job = _latest(session)
    if job is None or request.POST.get("job") != str(job.pk):
        raise Http404("There is no such summary of this session.")
    who = Actor(actor(request), FACE, request.POST.get("reason", "").strip()[:2000])
    try:
        repair = compacting.compaction_apply(job=job, actor=who, now=clock())
    except RepairRefused as refusal:
        return _page(request, session, job, refusal.words, status=409)
    return redirect(f"{reverse('sessions_app:session', args=[session_id])}?outcome={repair.public_id}")


def _latest(session: Session) -> Compaction | None:
    return Compaction.objects.filter(session=session).select_related("session__source", "repair").first()


def _options(query: QueryDict) -> ProbeOptions:
    thinking = query.get("thinking", "auto")
    thinking = thinking if thinking in THINKING else "auto"
    return ProbeOptions(
        query.get("target", "").strip()[:300],
        cast('Literal["on", "off", "auto"]', thinking),
        as_stored=query.get("as") != "repaired",
    )


def _query(options: ProbeOptions) -> str:
    pairs = {
        "target": options.target,
        "thinking": options.thinking if options.thinking != "auto" else "",
        "as": "" if options.as_stored else "repaired",
    }
    return urlencode({name: value for name, value in pairs.items() if value})


def _back(session_id: int, options: ProbeOptions, fragment: str = "") -> HttpResponse:
    address = redirect("sessions_app:provider", session_id).url
    query = _query(options)
    return redirect(address + (f"?{query}" if query else "") + fragment)
