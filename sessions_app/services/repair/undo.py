"""Taking a repair back: the inverse of its row changes, under the same guard (docs/contract/design.md#5)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from sessions_app import stores
from sessions_app.domain import rowdoc
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.models import Repair, RepairBatch
from sessions_app.selectors.rows import session_rows
from sessions_app.services.actor import Actor

from .apply import rows_after
from .destination import MirrorAlone, file_of
from .history import history_signed, repair_write
from .refusal import RepairRefused, refusing


def repair_undo(*, repair: Repair, actor: Actor, now: datetime, batch: RepairBatch | None = None) -> Repair:
    """Take a repair of the history back; the undo is a repair itself. Raises ``RepairRefused``: nothing was written
    then."""
    if repair.state != Repair.State.APPLIED:
        raise RepairRefused(
            "state",
            f"Repair {repair.public_id} is {repair.get_state_display().lower()}; only an applied one can be undone.",
        )
    changes = inverted(tuple(change.change for change in repair.changes.order_by("position")))
    if not changes:
        raise RepairRefused("state", f"Repair {repair.public_id} kept no rows that could be put back.")
    undo = Repair(
        session=repair.session,
        source=repair.source,
        session_stored_id=repair.session_stored_id,
        session_title=repair.session_title,
        path=repair.path,
        undoes=repair,
        rules=repair.rules,
        words=repair.words,
        batch=batch,
        hash_before=repair.hash_after,
        hash_after=repair.hash_before,
        **history_signed(actor, now),
    )
    if not repair.path:
        return _mirror_undo(repair, undo, changes, now)
    with refusing(), stores.open_store(Path(repair.path)) as store:
        to = file_of(repair=repair, store=store, now=now)
        undo.holders = [asdict(holder) for holder in to.whole.holders]
        return repair_write(repair=undo, changes=changes, to=to, now=now)


def _mirror_undo(repair: Repair, undo: Repair, changes: tuple[RowChange, ...], now: datetime) -> Repair:
    if repair.session is None:
        raise RepairRefused("state", f"The session of repair {repair.public_id} is not here any more.")
    rows = session_rows(repair.session)
    after = rows_after(rows, changes)
    undo.hash_before, undo.hash_after = rowdoc.rows_hash(rows), rowdoc.rows_hash(after)
    return repair_write(repair=undo, changes=changes, to=MirrorAlone(repair.session, after, now), now=now)
