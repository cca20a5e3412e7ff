"""Repairs done, newest first, and one of them with what it changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from django.db.models import FETCH_RAISE, Exists, OuterRef, Q

from sessions_app.models import Repair, RepairBatch

from .paging import Page, paged

PER_PAGE = 50
CHANGES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class RepairDetail:
    repair: Repair
    undone_by: Repair | None
    changes: tuple[Any, ...]
    change_total: int
    undo_note: str
    """Why an undo is not possible now, "" = it is."""


@dataclass(frozen=True, slots=True)
class RepairQuery:
    """What is asked of the history; "" = anything."""

    q: str = ""
    state: str = ""
    rule: str = ""
    actor: str = ""
    since: str = ""
    """An ISO day."""

    def conditions(self) -> Q:
        asked = Q()
        if self.state in Repair.State.values:
            asked &= Q(state=self.state)
        if self.q:
            asked &= (
                Q(session_title__icontains=self.q)
                | Q(session_stored_id=self.q)
                | Q(public_id=self.q)
                | Q(actor=self.q)
                | Q(reason__icontains=self.q)
            )
        if self.rule:
            asked &= Q(findings__icontains=f'"{self.rule}:')
        if self.actor:
            asked &= Q(actor=self.actor)
        if self.since:
            asked &= Q(created_at__gte=datetime.combine(date.fromisoformat(self.since), time(), tzinfo=UTC))
        return asked


def repair_page(asked: RepairQuery, number: int = 1) -> Page[Repair]:
    """A page of the history, newest first; of a batch its last repair that matches, which stands for all of them."""
    matching = Repair.objects.filter(asked.conditions())
    later = matching.filter(batch=OuterRef("batch"), pk__gt=OuterRef("pk"))
    found = matching.filter(Q(batch=None) | ~Exists(later)).select_related("batch", "undoes", "session")
    return paged(found.fetch_mode(FETCH_RAISE), tuple, number, PER_PAGE, found.order_by().count())


def session_repairs(session: int, number: int = 1) -> Page[Repair]:
    """A page of one session's repairs, each for itself."""
    found = Repair.objects.filter(session=session).select_related("batch", "undoes", "session")
    return paged(found.fetch_mode(FETCH_RAISE), tuple, number, PER_PAGE, found.order_by().count())


@dataclass(frozen=True, slots=True)
class Lately:
    """A repair, or a batch as one. ``undo``: it can be asked for its undo."""

    at: datetime
    rules: tuple[str, ...]
    state: str
    repair: Repair | None
    batch: RepairBatch | None
    undo: bool


def repairs_lately(count: int = 7) -> list[Lately]:
    """The last repairs, newest first; those of a batch are one."""
    alone = Repair.objects.filter(batch=None, undoes=None).exclude(state=Repair.State.PLANNED)
    found = [
        Lately(repair.created_at, tuple(repair.rules), repair.state, repair, None, repair.state == Repair.State.APPLIED)
        for repair in alone.defer("operations", "findings", "verification").fetch_mode(FETCH_RAISE)[:count]
    ]
    done = (RepairBatch.State.DONE, RepairBatch.State.CANCELLED, RepairBatch.State.FAILED)
    batches = RepairBatch.objects.defer("session_ids").fetch_mode(FETCH_RAISE)[:count]
    found += [
        Lately(
            batch.created_at,
            tuple(batch.options.get("rules") or ()),
            batch.state,
            None,
            batch,
            batch.state in done and batch.repaired > 0,
        )
        for batch in batches
    ]
    return sorted(found, key=lambda one: one.at, reverse=True)[:count]


def repair_detail(public_id: str) -> RepairDetail | None:
    """One repair with its first ``CHANGES_SHOWN`` row changes."""
    repair = Repair.objects.select_related("batch", "undoes", "session", "source").filter(public_id=public_id).first()
    if repair is None:
        return None
    undone_by = Repair.objects.filter(undoes=repair, state=Repair.State.APPLIED).first()
    changes = tuple(change.change for change in repair.changes.order_by("position")[:CHANGES_SHOWN])
    return RepairDetail(repair, undone_by, changes, repair.changes.count(), _undo_note(repair))


def _undo_note(repair: Repair) -> str:
    if repair.state == Repair.State.UNDONE:
        return "It was undone."
    if repair.state != Repair.State.APPLIED:
        return "Nothing was written, so there is nothing to undo."
    if repair.session is None:
        return ""
    if repair.hash_after and repair.session.rows_hash != repair.hash_after:
        return "changed"
    return ""
