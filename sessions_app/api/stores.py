"""A source as a whole: damage, rows that belong nowhere, hidden sessions, and bringing sessions into another store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.access import found, session_for_reading, session_for_repair, sources
from sessions_app.api.auth import REPAIR, SOURCES, VIEW, actor, require, require_all_sources
from sessions_app.api.problems import Problem, ProblemOut
from sessions_app.api.repairs import ERRORS, refused, repair_document
from sessions_app.api.schemas import Id, In, RepairOut, SourceJobOut, example
from sessions_app.api.schemas.checkup import CheckupOut
from sessions_app.api.sources import begun
from sessions_app.domain.handback.relink import Move, relink_operations
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import Operation, OperationError
from sessions_app.domain.wish import Wish
from sessions_app.models import Session
from sessions_app.selectors.rows import session_rows
from sessions_app.services.actor import Actor
from sessions_app.services.handback.recovery import source_recover
from sessions_app.services.handback.relinking import instead, session_unlisted
from sessions_app.services.handback.storereport import hidden_counts, hidden_sessions, store_report
from sessions_app.services.handback.wholesource import source_adopt, source_relink, source_tidy
from sessions_app.services.keeping import backup_document, backups_kept, restore_points
from sessions_app.services.refusals import store_answer
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.sourcedoctor import source_checkup
from sessions_app.stores.base import StoreError
from sessions_app.tasks import job_enqueue

router = Router(tags=["stores"])


class StoreFindingOut(Schema):
    """A fault of the store itself. ``rows`` holds the first hundred ids."""

    rule: str
    severity: str
    summary: str
    table: str
    rows: list[str]
    count: int


class HiddenOut(Schema):
    """A session that its client does not list, with the reasons. ``instead``: what works where a relink does not."""

    session: int
    id: str
    title: str
    reasons: list[str]
    instead: str


class GoneOut(Schema):
    """A session of which only events are left. ``told``: ``adopt`` into the same source makes it anew."""

    id: str
    title: str
    events: int
    told: bool


class SizesOut(Schema):
    """What a database file is made of, in bytes. ``events``: the client's event log, from a sample where ``sampled``;
    ``free``: pages that hold nothing."""

    file: int
    events: int
    event_rows: int
    free: int
    sampled: bool


class StoreOut(Schema):
    """The source as a whole. ``check`` is what SQLite says of the file: ok, damaged, unfinished, "" for what is no
    database."""

    check: str
    messages: list[str]
    findings: list[StoreFindingOut]
    rules: dict[str, int] = Field(description="store-wide rule: sessions in which it found something")
    hidden: list[HiddenOut]
    gone: list[GoneOut]
    sizes: SizesOut | None


class BackupOut(Schema):
    """A full backup. ``kind``: daily, batch (made for one bulk repair), before-restore. ``of``: the database's path, ""
    where that is not known."""

    path: str
    kind: str
    of: str
    made_at: str
    bytes: int


class RestorePointOut(Schema):
    """A repair that was written to a file. ``state``: prepared (unsettled), committed, undone, failed."""

    id: str
    at: str
    state: str
    path: str
    sessions: list[str]
    rows: int
    actor: str
    reason: str
    undoes: str
    backup: str


class KeptOut(Schema):
    """Full backups and restore points of a source, newest first."""

    backups: list[BackupOut]
    restore_points: list[RestorePointOut]


class TidyOut(Schema):
    """What took the rows out: ``undo`` on the command line takes it back. "" where there was nothing to take out."""

    repair: str
    rows: int


class RelinkIn(In):
    """Where the session belongs. ``directory`` left out: the one it has."""

    model_config = example(directory="/home/ann/project", unarchive=True)

    directory: str = Field("", max_length=4096)
    unarchive: bool = True
    reason: str = Field("", max_length=2000)


class RelinkPlanOut(Schema):
    """The columns of the session row that change: what is stored, and what it becomes."""

    before: dict[str, Any]
    after: dict[str, Any]
    rows_hash: str


class RelinkFolderIn(In):
    """A folder that was moved: where it was, and where it is now."""

    model_config = example(**{"from": "/home/ann/old", "to": "/srv/new", "dry_run": True})

    old: str = Field(alias="from", max_length=4096)
    new: str = Field(alias="to", max_length=4096)
    dry_run: bool = True


class RelinkedOut(Schema):
    """What becomes of one session: would-repair, repaired, nothing or refused (``why`` says it), and its columns."""

    id: str
    title: str
    outcome: str
    why: str
    before: dict[str, Any]
    after: dict[str, Any]


class MovedProjectOut(Schema):
    """A project that moves with the folder."""

    id: str
    before: dict[str, Any]
    after: dict[str, Any]


class RelinkFolderOut(Schema):
    """One plan for all sessions of the folder. ``repairs``: what ``suture undo`` takes, none in a dry run."""

    repairs: list[str]
    warnings: list[str]
    projects: list[MovedProjectOut]
    sessions: list[RelinkedOut]


class AdoptIn(In):
    """Into which source the sessions go; none named = all."""

    model_config = example(into=2, sessions=["ses_1"], dry_run=True)

    into: int
    sessions: list[str] = Field(default=[], max_length=10_000)
    dry_run: bool = True


class AdoptedOut(Schema):
    """What becomes of one session: would-adopt, adopted, there, empty, refused or unreadable."""

    id: str
    title: str
    outcome: str
    why: str
    messages: int
    parts: int
    left_out: list[dict[str, str]]
    repair: str


@router.get(
    "sources/{number}/store",
    response={200: StoreOut, **ERRORS},
    summary="The store as a whole",
)
def source_store(request: HttpRequest, number: Id) -> Any:
    """SQLite's quick_check, rows that belong to no session, and sessions that the client does not list."""
    require(request, VIEW)
    source = found(sources(request), pk=number)
    hidden = [
        {
            "session": one.pk,
            "id": one.stored_id,
            "title": one.title,
            "reasons": [finding.summary for finding in reasons],
            "instead": instead(reasons),
        }
        for one, reasons in hidden_sessions(source=source)
    ]
    rules = {rule: count for rule, _, count in hidden_counts(source=source)}
    try:
        with source.open_store() as store:
            report = store_report(store=store)
    except StoreError as problem:
        words = f"{problem.words} {problem.next_step}".strip()
        raise Problem(store_answer(problem.kind).status, words, kind="store") from problem
    check = report.check
    return {
        "check": check.state if check else "",
        "messages": list(check.messages) if check else [],
        "findings": [finding.document() for finding in report.findings],
        "rules": rules,
        "hidden": hidden,
        "gone": [asdict(one) for one in report.gone],
        "sizes": None if report.sizes is None else asdict(report.sizes),
    }


@router.get(
    "sources/{number}/doctor",
    response={200: CheckupOut, **ERRORS},
    summary="The store in one look",
)
def source_doctor(request: HttpRequest, number: Id) -> Any:
    """What `suture doctor` says of it, with the states of its sessions as they were scanned last. Nothing private is in
    it: no titles, no words, no ids, and the home folder as ~."""
    require(request, VIEW)
    source = found(sources(request), pk=number)
    try:
        with source.open_store() as store:
            return source_checkup(source=source, store=store).document()
    except StoreError as problem:
        words = f"{problem.words} {problem.next_step}".strip()
        raise Problem(store_answer(problem.kind).status, words, kind="store") from problem


@router.get(
    "sources/{number}/kept",
    response={200: KeptOut, 404: ProblemOut},
    summary="Backups and restore points",
)
def source_kept(request: HttpRequest, number: Id) -> Any:
    """What can be put back: full backups by ``suture restore``, restore points by ``suture undo``."""
    require(request, VIEW)
    path = Path(found(sources(request), pk=number).file)
    return {
        "backups": [backup_document(backup) for backup in backups_kept(path)],
        "restore_points": [point.document() for point in restore_points(timezone.now(), path)],
    }


@router.post(
    "sources/{number}/recover",
    response={201: SourceJobOut, 404: ProblemOut, 422: ProblemOut},
    summary="Recover a damaged database",
)
def source_save(request: HttpRequest, number: Id) -> Any:
    """Save what can be saved into a new file, which becomes a source of its own; its note counts the rows lost. The old
    file is only read."""
    require(request, SOURCES)
    require_all_sources(request)
    try:
        source, job, _ = source_recover(
            source=found(sources(request), pk=number), actor=actor(request), now=timezone.now(), face="api"
        )
    except StoreError as problem:
        raise Problem(422, f"{problem.words} {problem.next_step}".strip()) from problem
    return begun(source, job)


@router.post(
    "sources/{number}/tidy",
    response={200: TidyOut, **ERRORS},
    summary="Take out rows that belong nowhere",
)
def source_tidied(request: HttpRequest, number: Id) -> Any:
    """Messages of sessions that are gone and parts of messages that are gone. A restore point keeps their bytes."""
    require(request, REPAIR)
    try:
        repair, rows = source_tidy(
            source=found(sources(request), pk=number), actor=actor(request), now=timezone.now(), face="api"
        )
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    return {"repair": repair, "rows": rows}


@router.post(
    "sources/{number}/adopt",
    response={200: list[AdoptedOut], **ERRORS},
    summary="Bring sessions into another store",
)
def source_adopted(request: HttpRequest, number: Id, body: AdoptIn) -> Any:
    """Insert sessions of a storage tree, an export or an older database into the database that the client reads; into
    the same source, sessions of which only events are left. A dry run unless told."""
    require(request, REPAIR)
    try:
        outcomes, job = source_adopt(
            source=found(sources(request), pk=number),
            into=found(sources(request), pk=body.into),
            session_ids=body.sessions,
            actor=actor(request),
            now=timezone.now(),
            face="api",
            dry_run=body.dry_run,
        )
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    if job is not None:
        job_enqueue(job)
    return [outcome.document() for outcome in outcomes]


@router.post(
    "sources/{number}/relink",
    response={200: RelinkFolderOut, **ERRORS},
    summary="File the sessions of a moved folder",
)
def source_relinked(request: HttpRequest, number: Id, body: RelinkFolderIn) -> Any:
    """Project, directory and path of every session in the folder, in one write with one undo. A dry run unless told."""
    require(request, REPAIR)
    try:
        report, job = source_relink(
            source=found(sources(request), pk=number),
            move=Move.of(body.old, body.new),
            actor=actor(request),
            now=timezone.now(),
            face="api",
            dry_run=body.dry_run,
        )
    except OperationError as fault:
        raise Problem(422, str(fault)) from fault
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    if job is not None:
        job_enqueue(job)
    return report.document()


@router.post(
    "sessions/{sid}/relink/plan",
    response={200: RelinkPlanOut, 404: ProblemOut, 409: ProblemOut, 422: ProblemOut},
    summary="Preview a relink",
)
def session_relink_plan(request: HttpRequest, sid: Id, body: RelinkIn) -> Any:
    """Project, directory and path as the client computes them for the directory; nothing is written."""
    session = session_for_reading(request, sid)
    rows = session_rows(session)
    operations = _relink_operations(session, rows, body)
    after = {column: value for operation in operations for column, value in operation.columns.items()}
    return {
        "before": {column: rows.session.get(column) for column in after},
        "after": after,
        "rows_hash": session.rows_hash,
    }


@router.post(
    "sessions/{sid}/relink",
    response={200: RepairOut, **ERRORS},
    summary="File a session where its client looks",
)
def session_relink(request: HttpRequest, sid: Id, body: RelinkIn) -> Any:
    """Apply what the preview shows, under the same guard as a repair and with the same undo."""
    session = session_for_repair(request, sid)
    operations = _relink_operations(session, session_rows(session), body)
    if not operations:
        raise Problem(409, "It is filed where its client looks for it.", kind="nothing")
    try:
        made = repair_apply(
            session=session,
            wish=Wish(operations=operations),
            actor=Actor(actor(request), "api", body.reason or "relink"),
            now=timezone.now(),
            expected_hash=session.rows_hash,
        )
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    return repair_document(made)


def _relink_operations(session: Session, rows: SessionRows, body: RelinkIn) -> tuple[Operation, ...]:
    if why := session_unlisted(session=session):
        raise Problem(409, why, kind="state")
    try:
        return relink_operations(rows, body.directory, unarchive=body.unarchive)
    except OperationError as fault:
        raise Problem(422, str(fault)) from fault
