"""Probes and compactions: what asks a provider. Nothing is sent unless the body says ``send``."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router
from ninja.responses import Status

from sessions_app.models import Compaction, Probe
from sessions_app.services import compacting, probing
from sessions_app.services.actor import Actor
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.scanning import target_document
from sessions_app.tasks import job_enqueue

from .access import found, session_for_reading, session_for_repair, within
from .auth import REPAIR, VIEW, actor, require
from .paging import PageNumber, PerPage, page_of
from .problems import Problem, ProblemOut
from .repairs import refused, repair_document
from .schemas import (
    AskIn,
    CompactionOut,
    Id,
    ProbeIn,
    ProbeOut,
    ProbePage,
    QuestionOut,
    RepairOut,
    UndoIn,
)

router = Router(tags=["providers"])

STATUS = {"target": 422, "lowering": 409, "endpoint": 409, "changed": 409, "store": 503, "nothing": 409}
ERRORS = dict.fromkeys((404, 409, 422, 423, 503, 507), ProblemOut)


@router.post(
    "sessions/{sid}/probe",
    response={200: ProbeOut | QuestionOut, **ERRORS},
    summary="Ask the provider whether it accepts a session",
)
def session_probe(request: HttpRequest, sid: Id, body: ProbeIn) -> Any:
    """Without ``send``: host, size and digest of what would be sent. With it: the provider's answer, its words resolved
    to the part.

    ``digest`` makes sure that what is sent is what was shown; 409 otherwise, and where no endpoint is configured.
    """
    session = session_for_repair(request, sid)
    options = probing.ProbeOptions(body.target, body.thinking, body.as_stored)
    now = timezone.now()
    try:
        if not body.send:
            return _question(probing.session_prepare(session=session, options=options, now=now))
        probe = probing.probe_run(
            session=session,
            options=options,
            actor=Actor(actor(request), "api"),
            now=now,
            expected_digest=body.digest,
        )
    except probing.ProbeRefused as refusal:
        raise _problem(refusal) from refusal
    return probe_document(probe)


@router.get("sessions/{sid}/probes", response={200: ProbePage, 404: ProblemOut}, summary="Probes of a session")
def session_probes(request: HttpRequest, sid: Id, page: PageNumber = 1, per_page: PerPage = 50) -> Any:
    """What providers answered, newest first."""
    session = session_for_reading(request, sid)
    return page_of(request, Probe.objects.filter(session=session), page, per_page, probe_document)


@router.post(
    "sessions/{sid}/compact",
    response={200: QuestionOut, 202: CompactionOut, **ERRORS},
    summary="Summarise a session",
)
def session_compact(request: HttpRequest, sid: Id, body: AskIn) -> Any:
    """Without ``send``: host and size. With it, a summary is made in the background (202); look at it, then apply
    it."""
    session = session_for_repair(request, sid)
    now = timezone.now()
    try:
        if not body.send:
            ready = compacting.session_compaction_prepare(
                session=session, now=now, target=body.target, thinking=body.thinking
            )
            return Status(
                200,
                {
                    "sent": False,
                    "host": ready.endpoint.host,
                    "size": len(ready.work.text),
                    "target": target_document(ready.target),
                    "digest": "",
                },
            )
        job = compacting.compaction_start(
            session=session, actor=Actor(actor(request), "api"), now=now, target=body.target, thinking=body.thinking
        )
    except probing.ProbeRefused as refusal:
        raise _problem(refusal) from refusal
    job_enqueue(job)
    job.refresh_from_db()
    return Status(202, compaction_document(job))


@router.get(
    "compactions/{number}",
    response={200: CompactionOut, 404: ProblemOut},
    summary="One summary in the making",
)
def compaction_get(request: HttpRequest, number: Id) -> Any:
    """Progress, and the summary so far."""
    require(request, VIEW)
    return compaction_document(_compaction(request, number))


@router.post("compactions/{number}/cancel", response={200: CompactionOut, 404: ProblemOut}, summary="Cancel a summary")
def compaction_stop(request: HttpRequest, number: Id) -> Any:
    """Stop asking; nothing is written."""
    require(request, REPAIR)
    job = _compaction(request, number)
    compacting.compaction_cancel(job=job, now=timezone.now())
    job.refresh_from_db()
    return compaction_document(job)


@router.post("compactions/{number}/apply", response={200: RepairOut, **ERRORS}, summary="Write a ready summary")
def compaction_write(request: HttpRequest, number: Id, body: UndoIn) -> Any:
    """Write what the client itself would have written for this summary; a repair, undone as any other."""
    require(request, REPAIR)
    job = _compaction(request, number)
    try:
        repair = compacting.compaction_apply(
            job=job, actor=Actor(actor(request), "api", body.reason), now=timezone.now()
        )
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    return repair_document(repair)


def _compaction(request: HttpRequest, number: int) -> Compaction:
    return found(within(request, Compaction.objects.select_related("session__source"), "session__source"), pk=number)


def _problem(refusal: probing.ProbeRefused) -> Problem:
    return Problem(STATUS[refusal.kind], refusal.words)


def _question(prepared: probing.Prepared) -> dict[str, Any]:
    return {
        "sent": False,
        "host": prepared.endpoint.host,
        "size": prepared.size,
        "target": target_document(prepared.target),
        "digest": prepared.digest,
    }


def probe_document(probe: Probe) -> dict[str, Any]:
    names = ProbeOut.model_fields.keys() - {"sent"}
    return {"sent": True, **{name: getattr(probe, name) for name in names}}


def compaction_document(job: Compaction) -> dict[str, Any]:
    names = CompactionOut.model_fields.keys() - {"session", "repair"}
    return {
        **{name: getattr(job, name) for name in names},
        "session": job.session_id,
        "repair": job.repair.public_id if job.repair else "",
    }
