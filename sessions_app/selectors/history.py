"""The repairs history: newest first, complete rows."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models
from django.db.models import QuerySet

from sessions_app.models import Repair, RepairBatch, RowChange


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """What to show of the history; "" and None = any."""

    session: int | None = None
    actor: str = ""
    rule: str = ""
    state: str = ""
    batch: str = ""


def repairs(only: HistoryFilter | None = None) -> QuerySet[Repair]:
    """Repairs that were applied, refused or undone, with session, source, batch and the undo that took them back."""
    wanted = only or HistoryFilter()
    found = (
        Repair.objects.select_related("session", "source", "batch", "undoes", "undone_by")
        .order_by("-created_at", "-id")
        .fetch_mode(models.FETCH_RAISE)
    )
    if wanted.session is not None:
        found = found.filter(session_id=wanted.session)
    if wanted.actor:
        found = found.filter(actor=wanted.actor)
    if wanted.rule:
        # As JSON text: every database has it, and codes contain no quotes.
        found = found.alias(rules_text=models.functions.Cast("rules", models.TextField())).filter(
            rules_text__contains=f'"{wanted.rule}"'
        )
    if wanted.state:
        found = found.filter(state=wanted.state)
    if wanted.batch:
        found = found.filter(batch__public_id=wanted.batch)
    return found


def repair_detail(public_id: str) -> tuple[Repair, list[RowChange]] | None:
    """One repair with the rows it changed, in order."""
    repair = repairs().filter(public_id=public_id).first()
    return (
        None
        if repair is None
        else (repair, list(RowChange.objects.filter(repair=repair).order_by("position")))
    )


def batches() -> QuerySet[RepairBatch]:
    """Bulk repairs, newest first."""
    return RepairBatch.objects.order_by("-id")
