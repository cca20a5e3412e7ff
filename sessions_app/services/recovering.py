"""After a crash: what became of writes that were under way (design 5.2: the old or the new state, and the next start says which)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from sessions_app import stores
from sessions_app.models import Repair
from sessions_app.stores.base import StoreError
from sessions_app.stores.journal import Journal

from .repairing import applied_mark, mirror_follow
from .writing import journal


def repairs_recover(*, now: datetime, silence: timedelta = timedelta(0)) -> list[str]:
    """Settle the journal, then bring the history and the mirror to it; returns what to tell, a sentence each.

    Repairs younger than ``silence`` are left alone: another process may be about to finish them.
    """
    kept = journal(now)
    told = [recovery.words for recovery in kept.recover(stores.open_store)]
    interrupted = Repair.objects.filter(state=Repair.State.PLANNED, created_at__lte=now - silence)
    for repair in interrupted.select_related("session__source", "source", "undoes", "batch"):
        _settle(repair, kept, now)
    return told


def _settle(repair: Repair, kept: Journal, now: datetime) -> None:
    try:
        state = kept.get(repair.public_id).state
    except KeyError:
        state = "failed"  # killed before the restore point: nothing was written
    if state in ("committed", "undone"):
        applied_mark(repair=repair, now=now)
        try:
            with stores.open_store(Path(repair.path)) as store:
                mirror_follow(repair=repair, store=store, now=now)
        except StoreError as problem:
            repair.verification = {"problem": problem.words}
            repair.save(update_fields=("verification",))
    elif state == "failed":
        repair.state, repair.error = Repair.State.FAILED, "Interrupted before anything was written."
        repair.save(update_fields=("state", "error"))
