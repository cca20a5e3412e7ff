"""Repairs that are written to the mirror alone: V2 rows that no file takes (design 7). ``Repair.path`` is "" for
them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import OperationError, inverted
from sessions_app.domain.repair import RowChange as DomainRowChange
from sessions_app.domain.scan import scan
from sessions_app.models import Repair, RowChange, Session
from sessions_app.selectors.rows import session_rows
from sessions_app.stores.fileturns import V2_REFUSED

from .mirror import session_write
from .repairing import Actor, applied_mark
from .rulesversion import rules_version
from .scanning import scan_write
from .writing import RepairRefused


def mirror_apply(
    *,
    session: Session,
    rows: SessionRows,
    changes: tuple[DomainRowChange, ...],
    rules: list[str],
    actor: Actor,
    now: datetime,
    undoes: Repair | None = None,
) -> Repair:
    """Write ``changes`` of ``rows`` to the mirror and keep them as a repair. Raises ``RepairRefused`` for an attached
    file."""
    if session.source.live:
        raise RepairRefused("store", V2_REFUSED)
    try:
        after = dialects.apply(rows, changes)
    except OperationError as problem:
        raise RepairRefused("changed", f"Nothing was written: {problem}") from problem
    repair = Repair(
        session=session,
        source=session.source,
        session_stored_id=session.stored_id,
        session_title=session.title,
        path="",
        undoes=undoes,
        rules=rules,
        hash_before=rowdoc.rows_hash(rows),
        hash_after=rowdoc.rows_hash(after),
        change_count=len(changes),
        rules_version=rules_version(),
        actor=actor.name,
        face=actor.face,
        reason=actor.reason,
        backup_note="Written to Suture's copy alone.",
        created_at=now,
    )
    with transaction.atomic():
        repair.save()
        RowChange.objects.bulk_create([RowChange.of(repair, place, change) for place, change in enumerate(changes)])
        decoded = dialects.decode(after)
        session_write(session=session, rows=after, decoded=decoded, rows_hash=repair.hash_after, now=now)
        scan_write(session=session, decoded=decoded, result=scan(decoded), now=now)
        applied_mark(repair=repair, now=now)
    return repair


def mirror_undo(*, repair: Repair, actor: Actor, now: datetime) -> Repair:
    """Take such a repair back. Raises ``RepairRefused``."""
    if repair.session is None:
        raise RepairRefused("state", f"The session of repair {repair.public_id} is not here any more.")
    changes = inverted(tuple(change.change for change in repair.changes.order_by("position")))
    return mirror_apply(
        session=repair.session,
        rows=session_rows(repair.session),
        changes=changes,
        rules=repair.rules,
        actor=actor,
        now=now,
        undoes=repair,
    )
