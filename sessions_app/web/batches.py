"""A batch of repairs on its page: what came of each session, and of all of them in one bar."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Case, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse

from sessions_app.models import BatchResult, RepairBatch, Session
from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.filters import SessionFilter

from . import present
from .outcome import Outcome


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A session of a batch. ``what``: the kinds of what was repaired, or why nothing was; ``now``: how it stands."""

    url: str
    name: str
    look: present.Look
    what: str
    undo: str
    changes: int
    now: present.Look | None


def batch_lines(batch: RepairBatch, most: int) -> list[BatchLine]:
    """At most so many, those that have to be looked at first."""
    health = Session.objects.filter(pk=OuterRef("session")).values("health")
    order = Case(
        When(outcome="failed", then=0),
        When(outcome="repaired", health="blocked", then=1),
        *(When(outcome=outcome, then=place) for place, outcome in enumerate(("skipped", "repaired"), 2)),
        default=4,
    )
    rows = batch.rows.annotate(health=Coalesce(Subquery(health), Value(""))).order_by(order, "place")
    return [_line(row, row.health) for row in rows[:most]]


def _line(result: BatchResult, health: str) -> BatchLine:
    return BatchLine(
        url=reverse("sessions_app:session", args=[result.session]) if health else "",
        name=result.title or result.stored_id or str(result.session),
        look=present.look("outcome", result.outcome),
        what="; ".join(rule_kind(rule) for rule in result.rules) or result.why,
        undo=result.undo,
        changes=result.changes,
        now=present.look("health", health) if health else None,
    )


def batch_outcome(batch: RepairBatch, *, standing: int, blocked: int, may_repair: bool) -> Outcome:
    """What a batch that has ended came to: ``standing`` repairs could be taken back, and ``blocked`` sessions of them
    are blocked by something else."""
    back = reverse("sessions_app:sessions")
    query = "" if "ids" in batch.filter else SessionFilter.from_query(batch.filter).to_query()
    troubles = blocked + batch.failed
    return Outcome(
        look=present.look("job", "failed" if batch.failed else batch.state),
        words=_words(batch, blocked),
        what_url="#results-heading" if troubles else "",
        what_words=f"Show the {troubles:,}",
        undo=str(batch.public_id) if standing and may_repair else "",
        undo_view="sessions_app:batch-undo",
        undo_words=f"Undo all {present.counted(standing, 'repair')}",
        back="",
        hand_back="",
        next_url=back + (f"?{query}" if query else ""),
        next_words="Back to the list",
    )


def _words(batch: RepairBatch, blocked: int) -> str:
    if batch.state == RepairBatch.State.UNDONE:
        return f"Taken back: {present.counted(batch.repaired, 'session')} as before."
    said = [f"{batch.repaired:,} repaired"]
    said += [f"{blocked:,} still blocked"] if blocked else []
    said += [f"{batch.skipped:,} left alone"] if batch.skipped else []
    said += [f"{batch.failed:,} failed"] if batch.failed else []
    begin = "Cancelled. " if batch.state == RepairBatch.State.CANCELLED else ""
    return f"{begin}{', '.join(said)}."
