"""Repairing a session of the mirror: plan, preview, apply, undo (design 5).

The write goes to the session's own file (attached: the agent's; uploaded: the stored copy), guarded and journalled; the
mirror follows in the same action, and its tables say who did what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import structlog
from django.db import IntegrityError, transaction

from sessions_app import stores
from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain import model as domain
from sessions_app.domain.handback.relink import asked_plan
from sessions_app.domain.model import SessionRows
from sessions_app.domain.planning import Preview
from sessions_app.domain.repair import Operation, Plan, inverted
from sessions_app.domain.repair import RowChange as DomainRowChange
from sessions_app.domain.rules import Facts
from sessions_app.domain.wire.target import Target
from sessions_app.models import Repair, RepairBatch, RowChange, Session, values
from sessions_app.selectors.rows import session_rows
from sessions_app.services.storefacts import session_facts, store_facts
from sessions_app.stores.backup import Backup
from sessions_app.stores.base import About, Store, StoreError
from sessions_app.stores.changes import GuardRefused
from sessions_app.stores.holders import Holder

from .audit import audit_record
from .reading import session_read, session_refresh, stored_id
from .rulesversion import rules_version
from .writing import RepairRefused, clients_of, full_backup, held_words, journal, named, what_changed

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What to repair: rules (none named = all), up to which safety, choices (finding key -> choice name), messages, for
    which target."""

    rules: tuple[str, ...] = ()
    safety: Literal["safe", "lossy"] = "safe"
    choices: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    target: Target | None = None
    operations: tuple[Operation, ...] = ()
    """What was asked for by hand; where there is any, it is the whole plan."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, through which face, and why."""

    name: str
    face: str = "web"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from, and which processes have the file open."""

    session: Session
    rows: SessionRows
    decoded: domain.Session
    plan: Plan
    facts: Facts
    holders: tuple[Holder, ...] = ()
    refusal: str = ""
    """The client has the file open, so nothing is planned unless forced: why."""

    @property
    def warning(self) -> str:
        return f"{named(self.holders)} has this file open." if self.holders else ""


def repair_plan(*, session: Session, options: RepairOptions, now: datetime, force: bool = False) -> Planned:
    """Plan a repair of the session as it is stored now. Raises ``RepairRefused`` where its source cannot be read.

    ``force`` also plans what a client that has the file open may still be working on.
    """
    refreshed = session_refresh(session=session, now=now)
    if refreshed.problem:
        raise RepairRefused("store", refreshed.problem)
    if session.imported_at is None:
        raise RepairRefused("store", session.error or "The rows of this session could not be read.")
    try:
        with session.source.open_store() as store:
            facts = store_facts(store=store, native=session.source.native, now=now, check=session.source.damage)
            holders = tuple(store.holders()) if session.source.live else ()
    except StoreError as problem:
        raise RepairRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem
    return _planned(session, session_rows(session), options, facts, holders, force)


def repair_preview(*, planned: Planned, target: Target | None = None) -> Preview:
    """Stored rows, what the model will see, and verdicts, before and after; all computed."""
    return planning.preview(planned.decoded, planned.plan, target, planned.facts)


def repair_apply(
    *,
    session: Session,
    options: RepairOptions,
    actor: Actor,
    now: datetime,
    expected_hash: str = "",
    force: bool = False,
    batch: RepairBatch | None = None,
) -> Repair:
    """Apply a repair to the session's file; the mirror follows.

    ``expected_hash`` is ``plan.rows_hash`` of the plan the user saw; the plan is made again from the rows as they are
    now, and refused where they are others. Raises ``RepairRefused``: nothing was written then.
    """
    try:
        with session.source.open_store() as store:
            planned = _plan_to_apply(session, store, options, expected_hash, force, now)
            repair = _repair_of(planned, actor, force, batch, now)
            return _write(repair, store, planned.rows, planned.plan.changes, actor, now, batch)
    except StoreError as problem:
        raise RepairRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem


def repair_undo(*, repair: Repair, actor: Actor, now: datetime, batch: RepairBatch | None = None) -> Repair:
    """Take a repair back under the same guard; the undo is a repair itself. Raises ``RepairRefused``: nothing was
    written then."""
    if repair.state != Repair.State.APPLIED:
        raise RepairRefused(
            "state",
            f"Repair {repair.public_id} is {repair.get_state_display().lower()}; only an applied one can be undone.",
        )
    if not repair.path:
        from .mirrorrepair import mirror_undo  # it makes repairs itself

        return mirror_undo(repair=repair, actor=actor, now=now)
    changes = inverted(tuple(change.change for change in repair.changes.order_by("position")))
    if not changes:
        raise RepairRefused("state", f"Repair {repair.public_id} kept no rows that could be put back.")
    try:
        with stores.open_store(Path(repair.path)) as store:
            undo = Repair(
                session=repair.session,
                source=repair.source,
                session_stored_id=repair.session_stored_id,
                session_title=repair.session_title,
                path=repair.path,
                undoes=repair,
                rules=repair.rules,
                batch=batch,
                hash_before=repair.hash_after,
                hash_after=repair.hash_before,
                holders=[asdict(holder) for holder in store.holders()],
            )
            _signed(undo, actor, now)
            return _write(undo, store, None, changes, actor, now, batch)
    except StoreError as problem:
        raise RepairRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem


def changes_apply(
    *,
    session: Session,
    rows: SessionRows,
    changes: tuple[DomainRowChange, ...],
    rules: list[str],
    actor: Actor,
    now: datetime,
) -> Repair:
    """Write row changes that no rule planned (a compaction) to the session's file, as a repair of ``rows``. Raises
    ``RepairRefused``."""
    try:
        with session.source.open_store() as store:
            repair = Repair(
                session=session,
                source=session.source,
                session_stored_id=session.stored_id,
                session_title=session.title,
                path=session.source.file,
                rules=rules,
                hash_before=rowdoc.rows_hash(rows),
                hash_after=rowdoc.rows_hash(dialects.apply(rows, changes)),
                holders=[asdict(holder) for holder in store.holders()] if session.source.live else [],
            )
            return _write(_signed(repair, actor, now), store, rows, changes, actor, now, None)
    except StoreError as problem:
        raise RepairRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem


def _plan_to_apply(
    session: Session, store: Store, options: RepairOptions, expected_hash: str, force: bool, now: datetime
) -> Planned:
    rows = store.read(stored_id(session))
    facts = store_facts(store=store, native=session.source.native, now=now, check=session.source.damage)
    if expected_hash and rowdoc.rows_hash(rows) != expected_hash:
        known = session_rows(session) if session.rows_hash == expected_hash else None
        changed = what_changed(known, rows) if known is not None else []
        session_read(session=session, store=store, facts=facts, now=now)
        words = "Not applied: the session changed after this plan was made. Nothing was written."
        raise RepairRefused("changed", words, changed)
    holders = tuple(store.holders()) if session.source.live else ()
    planned = _planned(session, rows, options, facts, holders, force)
    if planned.refusal:
        raise RepairRefused("held", planned.refusal)
    if not planned.plan.changes:
        raise RepairRefused("nothing", "There is nothing to repair with these options.")
    return planned


def _planned(
    session: Session,
    rows: SessionRows,
    options: RepairOptions,
    facts: Facts,
    holders: tuple[Holder, ...],
    force: bool,
) -> Planned:
    decoded, known, clients = dialects.decode(rows), session_facts(facts, rows), clients_of(holders)

    def planned(held: bool) -> Plan:
        if options.operations:
            return asked_plan(rows, options.operations)
        return planning.plan(
            decoded,
            target=options.target,
            rules=options.rules,
            safety=options.safety,
            choices=options.choices,
            messages=options.messages,
            facts=known,
            held=held,
        )

    held = bool(clients) and not force
    plan = planned(held)
    refused = held and not plan.changes and bool(planned(False).changes)
    return Planned(session, rows, decoded, plan, known, holders, held_words(clients) if refused else "")


def plan_rules(plan: Plan) -> list[str]:
    """Codes of the rules whose findings a plan repairs."""
    return sorted({key.partition(":")[0] for key in plan.findings})


def _repair_of(planned: Planned, actor: Actor, force: bool, batch: RepairBatch | None, now: datetime) -> Repair:
    session, plan = planned.session, planned.plan
    repair = Repair(
        session=session,
        source=session.source,
        batch=batch,
        session_stored_id=session.stored_id,
        session_title=session.title,
        path=session.source.file,
        rules=plan_rules(plan),
        findings=list(plan.findings),
        operations=[operation_document(operation) for operation in plan.operations],
        hash_before=plan.rows_hash,
        hash_after=rowdoc.rows_hash(dialects.apply(planned.rows, plan.changes)),
        holders=[asdict(holder) for holder in planned.holders],
        forced=force and bool(clients_of(planned.holders)),
    )
    return _signed(repair, actor, now)


def operation_document(operation: Any) -> dict[str, Any]:
    """An operation as the history shows it; its values are in the row changes."""
    named = {
        "action": operation.action,
        "subject": operation.subject,
        "message": operation.message_id,
        "part": operation.part_id,
    }
    return values.plain({**named, "why": operation.why})


def _signed(repair: Repair, actor: Actor, now: datetime) -> Repair:
    repair.actor, repair.face, repair.reason = actor.name, actor.face, actor.reason
    repair.rules_version, repair.created_at = rules_version(), now
    return repair


def _write(
    repair: Repair,
    store: Store,
    rows: SessionRows | None,
    changes: tuple[Any, ...],
    actor: Actor,
    now: datetime,
    batch: RepairBatch | None,
) -> Repair:
    """Write down what will be done, do it, say that it is done. Killed between any two of these, ``repairs_recover``
    settles it."""
    attached = repair.source is None or repair.source.live
    backup = (
        full_backup(store=store, now=now, batch=str(batch.public_id) if batch else "") if attached else Backup(None)
    )
    repair.backup_path, repair.backup_note = str(backup.path or ""), backup.skipped
    repair.change_count = len(changes)
    try:
        with transaction.atomic():
            repair.save()
            RowChange.objects.bulk_create(
                [RowChange.of(repair, place, change) for place, change in enumerate(changes)], batch_size=500
            )
    except IntegrityError as clash:
        if repair.undoes is None:
            raise
        raise RepairRefused(
            "state", f"Repair {repair.undoes.public_id} is being undone already. Look again in a moment."
        ) from clash
    about = About(
        actor=actor.name,
        reason=actor.reason,
        repair_id=repair.public_id,
        undoes=repair.undoes.public_id if repair.undoes else "",
        backup=repair.backup_path,
        hashes={repair.session_stored_id: (repair.hash_before, repair.hash_after)},
    )
    expect = {rows.id: repair.hash_before} if rows is not None else {}
    try:
        store.apply(changes, journal=journal(now), about=about, expect=expect)
    except OSError as problem:  # raised before the first row is written: no restore point, no repair
        words = f"Nothing was written: the restore point cannot be kept ({problem.strerror or problem})."
        _refused(repair, words, now)
        raise RepairRefused("store", words) from problem
    except (GuardRefused, StoreError) as refusal:
        _refused(repair, str(refusal), now)
        if isinstance(refusal, StoreError):
            raise
        raise RepairRefused("changed", str(refusal), [str(difference) for difference in refusal.changed]) from refusal
    applied_mark(repair=repair, now=now)
    mirror_follow(repair=repair, store=store, now=now)
    return repair


def applied_mark(*, repair: Repair, now: datetime) -> None:
    """The rows are written: the history says so, and so does the audit trail."""
    with transaction.atomic():
        repair.state, repair.applied_at = Repair.State.APPLIED, now
        repair.save(update_fields=("state", "applied_at"))
        undone = repair.undoes
        if undone is not None:
            undone.state, undone.undone_at = Repair.State.UNDONE, now
            undone.save(update_fields=("state", "undone_at"))
        audit_record(
            action="repair.undone" if undone is not None else "repair.applied",
            actor=repair.actor,
            face=repair.face,
            now=now,
            batch=repair.batch.public_id if repair.batch else None,
            subject=("repair", repair.public_id),
            session=repair.session_stored_id,
            repair=undone.public_id if undone is not None else repair.public_id,
            changes=repair.change_count,
        )


def _last_standing(session: Session) -> datetime | None:
    """When the last repair that was not taken back was applied."""
    standing = Repair.objects.filter(session=session, undoes=None, state=Repair.State.APPLIED)
    return standing.order_by("-applied_at").values_list("applied_at", flat=True).first()


def failed_mark(*, repair: Repair, why: str) -> None:
    """Nothing was written. An undo that failed lets go of the repair, so that it can be undone another time."""
    if repair.undoes is not None:
        why = f"Undo of {repair.undoes.public_id}: {why}"
    repair.state, repair.error, repair.undoes = Repair.State.FAILED, values.shown(why), None
    repair.save(update_fields=("state", "error", "undoes"))


def mirror_follow(*, repair: Repair, store: Store, now: datetime) -> None:
    """Bring the mirror to what was written and say what is left (design 5.5).

    The file is written already, so a failure here is told in ``verification`` and the session stays pending: its next
    reading catches up.
    """
    session = repair.session
    if session is None:
        return
    session.pending = True
    session.repaired_at = now if repair.undoes is None else _last_standing(session)
    session.save(update_fields=("pending", "repaired_at"))
    try:
        facts = store_facts(store=store, native=session.source.native, now=now, check=session.source.damage)
        session_read(session=session, store=store, facts=facts, now=now)
    except Exception as problem:
        log.exception("the mirror could not follow a repair", repair=repair.public_id)
        repair.verification = {"problem": values.shown(str(problem))}
    else:
        repair.verification = _verification(session, repair)
    if repair.undoes is not None:
        repair.hash_after = session.rows_hash
    repair.save(update_fields=("verification", "hash_after"))


def _verification(session: Session, repair: Repair) -> dict[str, Any]:
    return {
        "health": session.health,
        "blocked": session.blocked_count,
        "at-risk": session.at_risk_count,
        "info": session.info_count,
        "rejected_by": session.rejected_by,
        "as_planned": repair.undoes is not None or session.rows_hash == repair.hash_after,
    }


def _refused(repair: Repair, why: str, now: datetime) -> None:
    failed_mark(repair=repair, why=why)
    audit_record(
        action="repair.refused",
        actor=repair.actor,
        face=repair.face,
        now=now,
        subject=("repair", repair.public_id),
        session=repair.session_stored_id,
        why=why,
    )
