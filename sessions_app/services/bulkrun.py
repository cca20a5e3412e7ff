"""Doing a batch, in chunks that survive a killed worker.

A batch remembers the ids it stands for and how many of them are handled. A chunk takes the next few under a lease
(``heartbeat_at``): a worker that dies leaves the lease to run out, and the chunk that follows learns from the batch's
repairs what was done already. Undo goes the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog
from django.db.models import Q

from sessions_app.domain.wish import Wish
from sessions_app.models import Repair, RepairBatch, Session

from .actor import Actor
from .repair.apply import repair_apply
from .repair.refusal import RepairRefused
from .repair.undo import repair_undo

log = structlog.get_logger(__name__)

CHUNK = 25
"""Sessions that one chunk takes at most."""
LEASE = timedelta(seconds=60)
"""After this long without a sign of life a chunk counts as dead, and its batch may be taken up again."""

type Clock = Callable[[], datetime]
type Outcome = Literal["repaired", "nothing", "skipped", "failed"]

_COUNTED: dict[str, str] = {
    "repaired": "repaired",
    "nothing": "skipped",
    "skipped": "skipped",
    "failed": "failed",
}
_WORKING = (RepairBatch.State.QUEUED, RepairBatch.State.RUNNING)


def bulk_run_chunk(*, batch_id: int, clock: Clock, seconds: float = 5.0) -> bool:
    """Repair the next sessions of a batch, or take its next repairs back; whether there is more to do.

    False as well where another worker has the batch in hand, or it is finished.
    """
    batch = _claim(batch_id, clock())
    if batch is None:
        return False
    deadline = time.monotonic() + seconds
    if batch.state == RepairBatch.State.UNDOING:
        return _undo_chunk(batch, clock, deadline)
    return _repair_chunk(batch, clock, deadline)


def bulk_unfinished(*, now: datetime, alone: bool = False) -> list[int]:
    """Batches to be taken up at the start of a worker; the caller enqueues a chunk for each.

    ``alone``: no other process works on this database, so a lease that still runs is a dead worker's, and ends here.
    Otherwise a batch under lease is left to ``bulk_abandoned``.
    """
    active = RepairBatch.objects.filter(state__in=RepairBatch.ACTIVE)
    if alone:
        active.update(heartbeat_at=None)
    return list(active.filter(_free(now)).order_by("pk").values_list("pk", flat=True))


def bulk_abandoned(*, now: datetime) -> list[int]:
    """Batches whose worker died with the lease in hand, looked for from time to time."""
    active = RepairBatch.objects.filter(state__in=RepairBatch.ACTIVE, heartbeat_at__lte=now - LEASE)
    return list(active.order_by("pk").values_list("pk", flat=True))


def _free(now: datetime) -> Q:
    return Q(heartbeat_at=None) | Q(heartbeat_at__lte=now - LEASE)


def _claim(batch_id: int, now: datetime) -> RepairBatch | None:
    mine = RepairBatch.objects.filter(_free(now), pk=batch_id, state__in=RepairBatch.ACTIVE)
    if not mine.update(heartbeat_at=now):
        return None
    batch = RepairBatch.objects.get(pk=batch_id)
    if batch.state == RepairBatch.State.QUEUED:
        batch.state, batch.started_at = RepairBatch.State.RUNNING, now
        batch.save(update_fields=("state", "started_at"))
    return batch


def _repair_chunk(batch: RepairBatch, clock: Clock, deadline: float) -> bool:
    wish = Wish.from_json(batch.options)
    ids = batch.session_ids[batch.done : batch.done + CHUNK]
    sessions = Session.objects.select_related("source").in_bulk(ids)
    done = _already_done(batch, ids)
    for number in ids:
        if _cancelled(batch, clock):
            return False
        result = done.get(number) or _handled(batch, sessions.get(number), number, wish, clock)
        batch.results.append(result)
        batch.done += 1
        name = _COUNTED[result["outcome"]]
        setattr(batch, name, getattr(batch, name) + 1)
        if result["outcome"] == "failed" and batch.options.get("stop_on_failure"):
            _finish(batch, RepairBatch.State.FAILED, clock, f"Stopped at the first failure: {result['why']}")
            return False
        if time.monotonic() > deadline:
            break
    if batch.done >= len(batch.session_ids):
        _finish(batch, RepairBatch.State.DONE, clock)
        return False
    _keep(batch, heartbeat=None)
    return True


def _already_done(batch: RepairBatch, ids: list[int]) -> dict[int, dict[str, Any]]:
    """Sessions that a chunk before this one repaired and could not note down any more."""
    made = Repair.objects.filter(batch=batch, session__in=ids, state=Repair.State.APPLIED, undoes=None)
    return {
        repair.session_id: _result(repair.session, repair.session_id, "repaired", repair=repair)
        for repair in made.select_related("session")
    }


def _handled(batch: RepairBatch, session: Session | None, number: int, wish: Wish, clock: Clock) -> dict[str, Any]:
    if session is None:
        return _result(None, number, "skipped", why="The session is not here any more.")
    actor = Actor(name=batch.actor, face=str(batch.options.get("face", "web")), reason=batch.reason)
    RepairBatch.objects.filter(pk=batch.pk).update(heartbeat_at=clock())
    try:
        repair = repair_apply(
            session=session,
            wish=wish,
            actor=actor,
            now=clock(),
            batch=batch,
        )
    except RepairRefused as refusal:
        outcome: Outcome = "nothing" if refusal.kind == "nothing" else "skipped" if refusal.kind == "held" else "failed"
        return _result(session, number, outcome, why=refusal.words)
    except Exception:  # a fault of ours in one session must not stop the others; it is logged and the report says so
        log.exception("bulk repair of a session failed", session=session.stored_id, batch=str(batch.public_id))
        return _result(session, number, "failed", why="Suture failed on this session; see the log.")
    return _result(session, number, "repaired", repair=repair)


def _result(
    session: Session | None, number: int, outcome: Outcome, *, why: str = "", repair: Repair | None = None
) -> dict[str, Any]:
    return {
        "session": number,
        "stored_id": session.stored_id if session else "",
        "title": session.title if session else "",
        "outcome": outcome,
        "repair": repair.public_id if repair else "",
        "rules": list(repair.rules) if repair else [],
        "changes": repair.change_count if repair else 0,
        "why": why,
        "undo": "",
    }


def _undo_chunk(batch: RepairBatch, clock: Clock, deadline: float) -> bool:
    """The last repair first, so that a session repaired twice comes back step by step. One that cannot be taken back
    says why and stays."""
    results = {result["repair"]: result for result in batch.results if result["repair"]}
    kept = [name for name, result in results.items() if result["undo"].startswith("kept")]
    applied = Repair.objects.filter(batch=batch, undoes=None, state=Repair.State.APPLIED).exclude(public_id__in=kept)
    for repair in applied.select_related("session", "source").order_by("-pk")[:CHUNK]:
        RepairBatch.objects.filter(pk=batch.pk).update(heartbeat_at=clock())
        actor = Actor(
            name=batch.actor,
            face=str(batch.options.get("face", "web")),
            reason=f"Undo of bulk repair {batch.public_id}",
        )
        why = ""
        try:
            repair_undo(repair=repair, actor=actor, now=clock(), batch=batch)
        except RepairRefused as refusal:
            why = refusal.words
        if repair.public_id in results:
            results[repair.public_id]["undo"] = f"kept: {why}" if why else "undone"
        kept += [repair.public_id] if why else []
        if time.monotonic() > deadline:
            break
    if applied.exclude(public_id__in=kept).exists():
        _keep(batch, heartbeat=None)
        return True
    words = f"{len(kept)} repairs could not be taken back; the report says why." if kept else ""
    _finish(batch, RepairBatch.State.FAILED if kept else RepairBatch.State.UNDONE, clock, words)
    return False


def _cancelled(batch: RepairBatch, clock: Clock) -> bool:
    if not RepairBatch.objects.filter(pk=batch.pk, cancel_requested=True).exists():
        return False
    batch.cancel_requested = True
    _finish(batch, RepairBatch.State.CANCELLED, clock)
    return True


def _finish(batch: RepairBatch, state: str, clock: Clock, error: str = "") -> None:
    batch.state, batch.finished_at, batch.error = state, clock(), error
    _keep(batch, heartbeat=None)


def _keep(batch: RepairBatch, *, heartbeat: datetime | None) -> None:
    batch.heartbeat_at = heartbeat
    batch.save(
        update_fields=(
            "state",
            "done",
            "repaired",
            "skipped",
            "failed",
            "results",
            "error",
            "heartbeat_at",
            "finished_at",
        )
    )
