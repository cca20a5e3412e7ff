"""Repairs done, newest first, and one of them with what it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import FETCH_RAISE, Q

from sessions_app.models import Repair

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


def repair_page(
    *, session: int | None = None, state: str = "", rule: str = "", q: str = "", number: int = 1
) -> Page[Repair]:
    """A page of the history; ``session`` keeps one session's repairs. Complete rows: the batch is loaded too."""
    found = Repair.objects.select_related("batch", "undoes", "session")
    if session is not None:
        found = found.filter(session=session)
    if state in Repair.State.values:
        found = found.filter(state=state)
    if q:
        found = found.filter(
            Q(session_title__icontains=q)
            | Q(session_stored_id=q)
            | Q(public_id=q)
            | Q(actor=q)
            | Q(reason__icontains=q)
        )
    if rule:
        found = found.filter(findings__icontains=f'"{rule}:')
    return paged(found.fetch_mode(FETCH_RAISE), tuple, number, PER_PAGE, found.order_by().count())


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
