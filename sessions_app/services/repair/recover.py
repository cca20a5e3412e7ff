"""After a crash: what became of writes that were under way (docs/contract/design.md#5: the old or the new state, and
the next start says which)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from django.db.models import Q

from sessions_app import stores
from sessions_app.models import Repair
from sessions_app.stores.base import StoreError
from sessions_app.stores.journal import Journal, Recovery

from .destination import file_of
from .history import applied_mark, failed_mark, mirror_follow
from .write import journal, journal_recover, journal_recovered


def repairs_recover(*, now: datetime) -> list[str]:
    """At start: settle the journal, then bring the history and the mirror to it; returns what to tell."""
    told = journal_recover(now=now)
    repairs_settle(now=now)
    return told


def repairs_settle(*, now: datetime, silence: timedelta = timedelta(0)) -> None:
    """Bring repairs that were left half told to what the journal says of them.

    Those younger than ``silence`` are left alone: another process may be about to finish them. Those from ahead of now
    are as old: the clock was set back.
    """
    old_enough = Repair.objects.filter(
        Q(created_at__lte=now - silence) | Q(created_at__gte=now + silence)
    ).select_related("session__source", "source", "undoes", "batch")
    interrupted = list(old_enough.filter(state=Repair.State.PLANNED))
    if interrupted:
        recovered = {recovery.entry.id: recovery for recovery in journal_recovered(now=now)}
        for repair in interrupted:
            _settle(repair, recovered.get(repair.public_id), journal(now), now)
    applied = old_enough.filter(state=Repair.State.APPLIED, verification={}, session__isnull=False)
    for repair in applied.exclude(path=""):
        _follow(repair, now)


def _settle(repair: Repair, recovery: Recovery | None, kept: Journal, now: datetime) -> None:
    try:
        state = kept.get(repair.public_id).state
    except KeyError:
        state = "failed"  # killed before the restore point: nothing was written
    if state in ("committed", "undone"):
        applied_mark(repair=repair, now=now)
        _follow(repair, now)
    elif state == "failed":
        failed_mark(repair=repair, why="Interrupted before anything was written.")
    elif recovery is not None and recovery.state == "unclear":
        # Nobody can tell any more. An undo lets go of its repair; the guard keeps a second one from doing harm.
        failed_mark(repair=repair, why=recovery.words)


def _follow(repair: Repair, now: datetime) -> None:
    try:
        with stores.open_store(Path(repair.path)) as store:
            mirror_follow(repair=repair, to=file_of(repair=repair, store=store, now=now), now=now)
    except StoreError as problem:
        repair.verification = {"problem": problem.words}
        repair.save(update_fields=("verification",))
