"""Applying: a plan, or row changes that no rule planned, written to where the session lives."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.model import SessionRows
from sessions_app.domain.places import done
from sessions_app.domain.repair import OperationError, RowChange
from sessions_app.domain.wish import Wish
from sessions_app.models import Repair, RepairBatch, Session
from sessions_app.selectors.rows import session_rows
from sessions_app.services.actor import Actor
from sessions_app.services.reading import session_read

from .bench import Bench, OpenStore, open_source, stored_bench
from .clients import clients_of
from .destination import MirrorAlone, OwnFile
from .history import history_begun, repair_write
from .refusal import NOTHING_TO_REPAIR, RepairRefused, what_changed
from .report import operation_document


def repair_apply(
    *,
    session: Session,
    wish: Wish,
    actor: Actor,
    now: datetime,
    expected_hash: str = "",
    batch: RepairBatch | None = None,
    whole: OpenStore | None = None,
    calm: bool = False,
) -> Repair:
    """Apply a repair to the session's file; the mirror follows.

    ``expected_hash`` is ``plan.rows_hash`` of the plan the user saw; rows that are others now are refused. ``whole``:
    its store, where it is open. ``calm``: the last scan found nothing that is wished for, so rows that are still those
    are not planned. Raises ``RepairRefused``: nothing was written then.
    """
    with stored_bench(session=session, wish=wish, now=now, whole=whole) as (bench, whole):
        if calm and bench.as_scanned:
            raise RepairRefused("nothing", NOTHING_TO_REPAIR)
        if expected_hash and bench.hashed != expected_hash:
            raise _changed(bench, whole, session, expected_hash)
        if batch is None and bench.misnamed:  # a batch names what each of its sessions has or not
            raise RepairRefused("wish", bench.misnamed)
        if bench.refusal:
            raise RepairRefused("held", bench.refusal)
        if not bench.plan.changes:
            raise RepairRefused("nothing", NOTHING_TO_REPAIR)
        repair = history_begun(session=session, path=session.source.file, hashes=bench.hashes, actor=actor, now=now)
        repair.batch = batch
        repair.rules, repair.findings = bench.plan.rules, list(bench.plan.findings)
        repair.choices = dict(bench.proposal.taken)
        repair.words = done(bench.decoded, bench.plan.operations)
        repair.operations = [operation_document(operation) for operation in bench.plan.operations]
        repair.holders = [asdict(holder) for holder in bench.holders]
        repair.forced = wish.force and bool(clients_of(bench.holders))
        return repair_write(
            repair=repair,
            changes=bench.plan.changes,
            to=OwnFile(whole),
            now=now,
            expect={bench.rows.id: repair.hash_before},
        )


def _changed(bench: Bench, whole: OpenStore, session: Session, expected_hash: str) -> RepairRefused:
    """The session is not what the plan was made for; the mirror is brought to what it is."""
    known = session_rows(session) if session.rows_hash == expected_hash else None
    changed = what_changed(known, bench.rows) if known is not None else []
    session_read(session=session, store=whole.store, facts=whole.facts, now=whole.now)
    words = "The session changed after this plan was made. Nothing was written."
    return RepairRefused("changed", words, changed)


def changes_apply(
    *,
    session: Session,
    rows: SessionRows,
    changes: tuple[RowChange, ...],
    rules: list[str],
    actor: Actor,
    now: datetime,
    mirror_alone: bool = False,
) -> Repair:
    """Write row changes that no rule planned (a compaction) as a repair of ``rows``: to the session's file, or to the
    mirror alone. Raises ``RepairRefused``."""
    after = rows_after(rows, changes)
    path = "" if mirror_alone else session.source.file
    hashes = rowdoc.rows_hash(rows), rowdoc.rows_hash(after)
    repair = history_begun(session=session, path=path, hashes=hashes, actor=actor, now=now)
    repair.rules = rules
    if mirror_alone:
        return repair_write(repair=repair, changes=changes, to=MirrorAlone(session, after, now), now=now)
    with open_source(session=session, now=now) as whole:
        repair.holders = [asdict(holder) for holder in whole.holders]
        expect = {rows.id: repair.hash_before}
        return repair_write(repair=repair, changes=changes, to=OwnFile(whole), now=now, expect=expect)


def rows_after(rows: SessionRows, changes: tuple[RowChange, ...]) -> SessionRows:
    """Raises ``RepairRefused`` where the rows are not those that the changes were made for."""
    try:
        return dialects.apply(rows, changes)
    except OperationError as problem:
        raise RepairRefused("changed", f"Nothing was written: {problem}") from problem
