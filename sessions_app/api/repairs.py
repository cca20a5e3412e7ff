"""Plans, repairs and their undo."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router

from sessions_app.domain import repair as domain
from sessions_app.domain.values import plain
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.domain.wish import DEDUPE, DROP, Wish, rule_known
from sessions_app.models import Repair, RowChange, Session
from sessions_app.services.actor import Actor
from sessions_app.services.refusals import repair_answer
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.bench import Bench, session_bench
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.report import operation_document
from sessions_app.services.repair.undo import repair_undo
from sessions_app.services.scanning import target_document, violation_document

from .access import found, session_for_repair, within
from .auth import REPAIR, VIEW, actor, require
from .paging import PageNumber, PerPage, page_of
from .problems import Problem, ProblemOut
from .schemas import (
    NO_NUL,
    Id,
    PlanOut,
    RepairApplyIn,
    RepairDetailOut,
    RepairIn,
    RepairOut,
    RepairPage,
    UndoIn,
    Words,
)

router = Router(tags=["repairs"])

# A request without a body asks for what an empty one asks for.
ALL_SAFE, APPLY_SAFE, NO_REASON = RepairIn(), RepairApplyIn(), UndoIn()

RepairState = Literal["planned", "applied", "undone", "failed"]
ERRORS = dict.fromkeys((404, 409, 422, 423, 503, 507), ProblemOut)


@router.post("sessions/{sid}/plan", response={200: PlanOut, **ERRORS}, summary="Plan a repair (dry run)")
def session_plan(request: HttpRequest, sid: Id, body: RepairIn = ALL_SAFE) -> Any:
    """What a repair with these options would do to the session as it is stored now; nothing is written."""
    session = session_for_repair(request, sid)
    try:
        with session_bench(session=session, wish=_wish(body), now=timezone.now()) as bench:
            if bench.misnamed:
                raise RepairRefused("wish", bench.misnamed)
            return _plan(bench)
    except RepairRefused as refusal:
        raise refused(refusal) from refusal


@router.post("sessions/{sid}/repair", response={200: RepairOut, **ERRORS}, summary="Repair a session")
def session_repair(request: HttpRequest, sid: Id, body: RepairApplyIn = APPLY_SAFE) -> Any:
    """Apply a repair to the session's file; refused with 409 where there is nothing to repair or the session changed
    meanwhile."""
    session = session_for_repair(request, sid)
    return _apply(request, session, _wish(body), body)


@router.post("sessions/{sid}/dedupe", response={200: RepairOut, **ERRORS}, summary="Dedupe repeated calls of a session")
def session_dedupe(request: HttpRequest, sid: Id, body: RepairApplyIn = APPLY_SAFE) -> Any:
    """Tool parts of one message that share a call id: keep the most informative one; two completed ones that differ are
    renamed apart."""
    return _preset(request, session_for_repair(request, sid), DEDUPE, body)


@router.post(
    "sessions/{sid}/drop",
    response={200: RepairOut, **ERRORS},
    summary="Drop tool calls whose thinking was lost",
)
def session_drop(request: HttpRequest, sid: Id, body: RepairApplyIn = APPLY_SAFE) -> Any:
    """Failed turns whose thinking cannot be sent again lose their tool calls and results. Lossy in the store, hence by
    name only."""
    return _preset(request, session_for_repair(request, sid), DROP, body)


@router.get("repairs", response=RepairPage, summary="List repairs")
def repairs_list(
    request: HttpRequest,
    session: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
    rule: Annotated[str, Query(max_length=500, pattern=NO_NUL)] = "",
    state: RepairState | None = None,
    actor_name: Annotated[str, Query(alias="actor", max_length=500, pattern=NO_NUL)] = "",
    page: PageNumber = 1,
    per_page: PerPage = 50,
) -> Any:
    """Repairs and undos, newest first."""
    require(request, VIEW)
    if rule:
        rule_known(rule)
    named = {"session": session, "state": state, "actor": actor_name}
    wanted = _repairs(request).filter(**{name: value for name, value in named.items() if value})
    if rule:
        # As JSON text, which every database has; codes hold nothing that would need quoting.
        wanted = wanted.alias(codes=Cast("rules", TextField())).filter(codes__contains=f'"{rule}"')
    return page_of(request, wanted, page, per_page, repair_document)


@router.get("repairs/{rid}", response={200: RepairDetailOut, 404: ProblemOut}, summary="One repair")
def repair_get(request: HttpRequest, rid: Words) -> Any:
    """A repair with the rows it changed."""
    require(request, VIEW)
    repair = _repair(request, rid)
    changes = RowChange.objects.filter(repair=repair).order_by("position")
    return {**repair_document(repair), "changes": [change_document(change.change) for change in changes]}


@router.post("repairs/{rid}/undo", response={200: RepairOut, **ERRORS}, summary="Undo a repair")
def repair_take_back(request: HttpRequest, rid: Words, body: UndoIn = NO_REASON) -> Any:
    """Put every row back as it was, if nothing else has changed them meanwhile. The answer is the undo, a repair of its
    own."""
    require(request, REPAIR)
    repair = _repair(request, rid)
    try:
        undo = repair_undo(repair=repair, actor=Actor(actor(request), "api", body.reason), now=timezone.now())
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    return repair_document(_repair(request, undo.public_id))


def refused(refusal: RepairRefused) -> Problem:
    """Nothing was written; the words say why."""
    status = repair_answer(refusal.kind, refusal.cause).status
    return Problem(status, refusal.words, kind=refusal.kind, changed=list(refusal.changed))


def _repairs(request: HttpRequest) -> QuerySet[Repair]:
    known = Repair.objects.select_related("batch", "undoes", "undone_by").order_by("-created_at", "-pk")
    return within(request, known)


def _repair(request: HttpRequest, rid: str) -> Repair:
    return found(_repairs(request), public_id=rid)


def _apply(request: HttpRequest, session: Session, wish: Wish, body: RepairApplyIn) -> dict[str, Any]:
    try:
        repair = repair_apply(
            session=session,
            wish=wish,
            actor=Actor(actor(request), "api", body.reason),
            now=timezone.now(),
            expected_hash=body.expected_hash,
        )
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    return repair_document(_repair(request, repair.public_id))


def _preset(request: HttpRequest, session: Session, preset: Wish, body: RepairApplyIn) -> dict[str, Any]:
    return _apply(request, session, replace(_wish(body), rules=preset.rules, safety=preset.safety), body)


def _wish(body: RepairIn) -> Wish:
    return Wish.of(
        rules=body.rules,
        findings=body.findings,
        choices=body.choices,
        messages=body.messages,
        safety=body.safety,
        target=body.target,
        thinking=body.thinking,
        history=body.history,
        force=body.force,
    )


def _plan(bench: Bench) -> dict[str, Any]:
    plan, seen = bench.plan, bench.preview
    return {
        "rows_hash": plan.rows_hash,
        "findings": list(plan.findings),
        "operations": [operation_document(operation) for operation in plan.operations],
        "changes": [change_document(change) for change in plan.changes],
        "skipped": [{"finding": finding, "why": why} for finding, why in plan.skipped],
        "before": verdict_document(seen.verdict_before),
        "after": verdict_document(seen.verdict_after),
        "warning": bench.warning,
        "refusal": bench.refusal,
    }


def change_document(change: domain.RowChange) -> dict[str, Any]:
    return {
        "table": change.table,
        "key": plain(change.key),
        "before": plain(change.before),
        "after": plain(change.after),
    }


def verdict_document(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "protocol": verdict.target.protocol,
        "accepted": verdict.accepted,
        "own": True,
        "target": target_document(verdict.target),
        "refusal": verdict.refusal,
        "violations": [violation_document(violation) for violation in verdict.violations],
        "warnings": [violation_document(violation) for violation in verdict.warnings],
        "not_checkable": list(verdict.not_checkable),
    }


def repair_document(repair: Repair) -> dict[str, Any]:
    undone_by = getattr(repair, "undone_by", None)
    return {
        "id": repair.public_id,
        "session": repair.session_id,
        "session_stored_id": repair.session_stored_id,
        "session_title": repair.session_title,
        "source": repair.source_id,
        "batch": str(repair.batch.public_id) if repair.batch else None,
        "undoes": repair.undoes.public_id if repair.undoes else None,
        "undone_by": undone_by.public_id if undone_by else None,
        "backup": repair.backup_path,
        **{
            name: getattr(repair, name)
            for name in (
                *("state", "face", "actor", "reason", "rules", "findings", "operations", "change_count"),
                *("hash_before", "hash_after", "backup_note", "verification", "error"),
                *("created_at", "applied_at", "undone_at"),
            )
        },
    }
