"""Doing a batch, in chunks that survive a killed worker.

A batch remembers the ids it stands for and how many of them are handled. A chunk takes the next few, and the chunk
that follows one whose worker died learns from the batch's repairs what was done already. Undo goes the same way.
"""

from __future__ import annotations

import time
from typing import Literal

import structlog
from django.db import transaction

from sessions_app.domain.wish import Wish
from sessions_app.models import BatchResult, Repair, RepairBatch, Session

from .actor import Actor
from .bulkstores import ChunkStores
from .jobs import Clock, job_finish, job_keep, job_run
from .repair.apply import repair_apply
from .repair.refusal import NOTHING_TO_REPAIR, RepairRefused
from .repair.undo import repair_undo

log = structlog.get_logger(__name__)

CHUNK = 200
"""Sessions that one chunk takes at most."""
_NOTED = 25
"""Sessions after which a chunk looks whether it is to stop, where it has nothing to do with them."""

type Outcome = Literal["repaired", "nothing", "skipped", "failed"]

_COUNTED: dict[str, str] = {
    "repaired": "repaired",
    "nothing": "skipped",
    "skipped": "skipped",
    "failed": "failed",
}
_KEPT = "kept:"
"""How a report begins to say why a repair could not be taken back."""
_PROGRESS = ("done", "repaired", "skipped", "failed")


def bulk_run(*, job_id: int, clock: Clock, seconds: float = 5.0) -> bool:
    """Repair the next sessions of a batch, or take its next repairs back; whether there is more to do.

    False as well where another worker has the batch in hand, or it is finished.
    """
    deadline = time.monotonic() + seconds

    def chunk(batch: RepairBatch) -> bool:
        step = _undo_chunk if batch.state == RepairBatch.State.UNDOING else _repair_chunk
        return step(batch, clock, deadline)

    return job_run(RepairBatch, job_id, clock, chunk)


def _repair_chunk(batch: RepairBatch, clock: Clock, deadline: float) -> bool:
    batch.started_at = batch.started_at or clock()
    wish = Wish.from_json(batch.options)
    ids = batch.session_ids[batch.done : batch.done + CHUNK]
    made: list[BatchResult] = []
    with ChunkStores(ids, wish, clock()) as stores:
        state, words = _repaired(batch, stores, ids, made, clock, deadline)
    with transaction.atomic():  # no row of the report without its count
        BatchResult.objects.bulk_create(made)
        if state:
            return job_finish(batch, state, clock(), words, *_PROGRESS)
        job_keep(batch, clock(), *_PROGRESS)
    return True


def _repaired(
    batch: RepairBatch, stores: ChunkStores, ids: list[int], made: list[BatchResult], clock: Clock, deadline: float
) -> tuple[str, str]:
    """Handle sessions until the deadline and put into ``made`` what came of each; the state in which the batch ends
    with that, "" = it goes on, and why."""
    done = _already_done(batch, ids)
    for place, number in enumerate(ids):
        result = done.get(number) or _quiet(stores, number)
        if (result is None or place % _NOTED == 0) and job_keep(batch, clock(), "started_at"):
            return RepairBatch.State.CANCELLED, ""
        result = result or _handled(batch, stores, number, clock)
        result.batch, result.place = batch, batch.done
        made.append(result)
        batch.done += 1
        name = _COUNTED[result.outcome]
        setattr(batch, name, getattr(batch, name) + 1)
        if result.outcome == "failed" and batch.options.get("stop_on_failure"):
            return RepairBatch.State.FAILED, f"Stopped at the first failure: {result.why}"
        if time.monotonic() > deadline:
            break
    return (RepairBatch.State.DONE if batch.done >= len(batch.session_ids) else ""), ""


def _already_done(batch: RepairBatch, ids: list[int]) -> dict[int, BatchResult]:
    """Sessions that a chunk before this one repaired and could not note down any more."""
    made = Repair.objects.filter(batch=batch, session__in=ids, state=Repair.State.APPLIED, undoes=None)
    return {
        repair.session.pk: _result(repair.session, repair.session.pk, "repaired", repair=repair)
        for repair in made.select_related("session")
        if repair.session is not None
    }


def _quiet(stores: ChunkStores, number: int) -> BatchResult | None:
    """What comes of a session that needs no look, None for the others."""
    session = stores.sessions.get(number)
    try:
        quiet = session is not None and stores.calm(session) and stores.untouched(session)
    except RepairRefused:
        return None
    return _result(session, number, "nothing", why=NOTHING_TO_REPAIR) if quiet else None


def _handled(batch: RepairBatch, stores: ChunkStores, number: int, clock: Clock) -> BatchResult:
    session = stores.sessions.get(number)
    if session is None:
        return _result(None, number, "skipped", why="The session is not here any more.")
    actor = Actor(name=batch.actor, face=batch.face, reason=batch.reason)
    try:
        repair = repair_apply(
            session=session,
            wish=stores.wish,
            actor=actor,
            now=clock(),
            batch=batch,
            whole=stores.of(session),
            calm=stores.calm(session),
        )
    except RepairRefused as refusal:
        if refusal.kind == "store":
            stores.forget(session)
        outcome: Outcome = "nothing" if refusal.kind == "nothing" else "skipped" if refusal.kind == "held" else "failed"
        return _result(session, number, outcome, why=refusal.words)
    except Exception:  # a fault of ours in one session must not stop the others; it is logged and the report says so
        log.exception("bulk repair of a session failed", session=session.stored_id, batch=str(batch.public_id))
        return _result(session, number, "failed", why="Suture failed on this session; see the log.")
    return _result(session, number, "repaired", repair=repair)


def _result(
    session: Session | None, number: int, outcome: Outcome, *, why: str = "", repair: Repair | None = None
) -> BatchResult:
    return BatchResult(
        session=number,
        stored_id=session.stored_id if session else "",
        title=session.title if session else "",
        outcome=outcome,
        repair=repair.public_id if repair else "",
        rules=list(repair.rules) if repair else [],
        changes=repair.change_count if repair else 0,
        why=why,
    )


def _undo_chunk(batch: RepairBatch, clock: Clock, deadline: float) -> bool:
    """The last repair first, so that a session repaired twice comes back step by step. One that cannot be taken back
    says why and stays."""
    kept = list(batch.rows.filter(undo__startswith=_KEPT).values_list("repair", flat=True))
    told: dict[str, str] = {}
    applied = Repair.objects.filter(batch=batch, undoes=None, state=Repair.State.APPLIED).exclude(public_id__in=kept)
    for repair in applied.select_related("session", "source").order_by("-pk")[:CHUNK]:
        job_keep(batch, clock())
        actor = Actor(
            name=batch.actor,
            face=batch.face,
            reason=f"Undo of bulk repair {batch.public_id}",
        )
        why = ""
        try:
            repair_undo(repair=repair, actor=actor, now=clock(), batch=batch)
        except RepairRefused as refusal:
            why = refusal.words
        told[repair.public_id] = f"{_KEPT} {why}" if why else "undone"
        kept += [repair.public_id] if why else []
        if time.monotonic() > deadline:
            break
    with transaction.atomic():
        for public_id, undo in told.items():
            batch.rows.filter(repair=public_id).update(undo=undo)
        job_keep(batch, clock())
    if applied.exclude(public_id__in=kept).exists():
        return True
    words = f"{len(kept)} repairs could not be taken back; the report says why." if kept else ""
    state = RepairBatch.State.FAILED if kept else RepairBatch.State.UNDONE
    return job_finish(batch, state, clock(), words)
