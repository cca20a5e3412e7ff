"""The history of a repair, from what will be done to what came of it.

Written down, done, told: killed between any two of these, ``recover`` settles it by the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db import IntegrityError, OperationalError, transaction

from sessions_app.domain import values
from sessions_app.domain.patience import unlimited
from sessions_app.domain.repair import RowChange as Change
from sessions_app.models import Repair, RowChange, Session
from sessions_app.services.actor import Actor
from sessions_app.services.audit import audit_record
from sessions_app.services.database import once_more
from sessions_app.services.rulesversion import rules_version
from sessions_app.stores.base import About

from .destination import Destination
from .refusal import RepairRefused, refusing

log = structlog.get_logger(__name__)


def history_begun(*, session: Session, path: str, hashes: tuple[str, str], actor: Actor, now: datetime) -> Repair:
    """A repair of the session, not saved yet. ``path``: the file that will be written, "" = the mirror alone."""
    return Repair(
        session=session,
        source=session.source,
        session_stored_id=session.stored_id,
        session_title=session.title,
        path=path,
        hash_before=hashes[0],
        hash_after=hashes[1],
        **history_signed(actor, now),
    )


def history_signed(actor: Actor, now: datetime) -> dict[str, Any]:
    """Columns that say who, when, and by which rules."""
    return {
        "actor": actor.name,
        "face": actor.face,
        "reason": actor.reason,
        "rules_version": rules_version(),
        "created_at": now,
    }


def repair_write(
    *,
    repair: Repair,
    changes: Sequence[Change],
    to: Destination,
    now: datetime,
    expect: Mapping[str, str] | None = None,
) -> Repair:
    """Write down what will be done, do it, say that it is done, and bring the mirror to it. ``expect``: stored session
    id -> hash that it must still have. Raises ``RepairRefused``: nothing was written then."""
    with to.together():
        backup = to.backup(batch=str(repair.batch.public_id) if repair.batch else "")
        repair.backup_path, repair.backup_note = str(backup.path or ""), backup.skipped
        with unlimited():
            _written(repair, changes, to, expect or {}, now)
    return repair


def _written(
    repair: Repair, changes: Sequence[Change], to: Destination, expect: Mapping[str, str], now: datetime
) -> None:
    """From here to the end without a limit of time: what is begun is told whole."""
    _written_down(repair, changes)
    _done(repair, changes, to, expect, now)
    try:
        once_more(lambda: applied_mark(repair=repair, now=now))
        mirror_follow(repair=repair, to=to, now=now)
    except OperationalError:  # the rows are written: the periodic look brings the history to them
        log.exception("the history could not follow a repair", repair=repair.public_id)
        repair.verification = {"problem": "Suture's own database is locked; the history follows in a moment."}


def _written_down(repair: Repair, changes: Sequence[Change]) -> None:
    repair.change_count = len(changes)
    rows = [RowChange.of(repair, place, change) for place, change in enumerate(changes)]

    def write() -> None:
        with transaction.atomic():
            repair.save()
            RowChange.objects.bulk_create(rows, batch_size=500)

    try:
        once_more(write)
    except OperationalError as locked:
        words = f"Nothing was written: Suture's own database cannot be written just now ({locked})."
        raise RepairRefused("store", words) from locked
    except IntegrityError as clash:
        if repair.undoes is None:
            raise
        raise RepairRefused(
            "state", f"Repair {repair.undoes.public_id} is being undone already. Look again in a moment."
        ) from clash


def _done(repair: Repair, changes: Sequence[Change], to: Destination, expect: Mapping[str, str], now: datetime) -> None:
    about = About(
        actor=repair.actor,
        reason=repair.reason,
        repair_id=repair.public_id,
        undoes=repair.undoes.public_id if repair.undoes else "",
        backup=repair.backup_path,
        hashes={repair.session_stored_id: (repair.hash_before, repair.hash_after)},
    )
    try:
        with refusing():
            to.write(changes, about, expect)
    except RepairRefused as refusal:
        _refused(repair, refusal.words, now)
        raise
    except OSError as problem:  # raised before the first row is written: no restore point, no repair
        words = f"Nothing was written: the restore point cannot be kept ({problem.strerror or problem})."
        _refused(repair, words, now)
        raise RepairRefused("store", words) from problem


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


def failed_mark(*, repair: Repair, why: str) -> None:
    """Nothing was written. An undo that failed lets go of the repair, so that it can be undone another time."""
    if repair.undoes is not None:
        why = f"Undo of {repair.undoes.public_id}: {why}"
    repair.state, repair.error, repair.undoes = Repair.State.FAILED, values.shown(why), None
    repair.save(update_fields=("state", "error", "undoes"))


def mirror_follow(*, repair: Repair, to: Destination, now: datetime) -> None:
    """Bring the mirror to what was written and say what is left (docs/contract/design.md#5).

    The rows are written already, so a failure here is told in ``verification``.
    """
    session = repair.session
    if session is None:
        return
    session.repaired_at = now if repair.undoes is None else _last_standing(session)
    session.save(update_fields=("repaired_at",))
    try:
        to.follow(session)
    except Exception as problem:
        log.exception("the mirror could not follow a repair", repair=repair.public_id)
        repair.verification = {"problem": values.shown(str(problem))}
    else:
        repair.verification = _verification(session, repair)
    if repair.undoes is not None:
        repair.hash_after = session.rows_hash
    repair.save(update_fields=("verification", "hash_after"))


def _last_standing(session: Session) -> datetime | None:
    """When the last repair that was not taken back was applied."""
    standing = Repair.objects.filter(session=session, undoes=None, state=Repair.State.APPLIED)
    return standing.order_by("-applied_at").values_list("applied_at", flat=True).first()


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
