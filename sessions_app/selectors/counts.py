"""How many sessions match a filter, by health: from the kept counts where they know, else counted."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Count, Q, QuerySet, Sum

from sessions_app.models import Session, SessionCount

from .filters import SessionFilter

_KINDS = {
    "rule": SessionCount.Kind.RULE,
    "rejected": SessionCount.Kind.REJECTED,
    "model": SessionCount.Kind.MODEL,
    "fate": SessionCount.Kind.FATE,
}
_KNOWN = _KINDS.keys() | {"health", "source", "sort"}


def by_health(wanted: SessionFilter, among: QuerySet[Session] | None = None) -> Mapping[str, int]:
    """Sessions by health under the filter's other conditions; ``among`` None = of all."""
    asked = wanted.without("health")
    kept = _kept(asked) if among is None else None
    if kept is not None:
        return dict(kept)
    found = asked.chosen(Session.objects.all() if among is None else among)
    # In one row: grouped by health, SQLite would walk that index and look up every session.
    return found.aggregate(**{health: Count("pk", filter=Q(health=health)) for health in Session.Health.values})


def matching(wanted: SessionFilter, tally: Mapping[str, int] | None = None) -> int:
    """How many sessions match; ``tally`` is ``by_health`` of the same filter, where it is at hand."""
    counts = by_health(wanted) if tally is None else tally
    return sum(counts.get(health, 0) for health in wanted["health"] or counts)


def safely(wanted: SessionFilter) -> int | None:
    """How many of them are repaired safely; None where the kept counts do not tell."""
    if wanted["fate"]:
        return matching(wanted) if wanted["fate"] == "safe" else 0
    kept = _kept(wanted.without("health").also(fate="safe"))
    return None if kept is None else sum(n for health, n in kept if health in (wanted["health"] or (health,)))


def everything() -> int:
    """How many sessions there are."""
    return SessionCount.objects.filter(kind=SessionCount.Kind.ANY).aggregate(n=Sum("sessions"))["n"] or 0


def _kept(asked: SessionFilter) -> QuerySet[SessionCount, tuple[str, int]] | None:
    """From the kept counts; None where they do not tell conditions like these together."""
    kinds = _KINDS.keys() & asked.values.keys()
    if len(kinds) > 1 or not asked.values.keys() <= _KNOWN:
        return None
    kind = next(iter(kinds), "")
    counts = SessionCount.objects.filter(
        kind=_KINDS.get(kind, SessionCount.Kind.ANY), value=asked[kind] if kind else ""
    )
    if asked["source"] is not None:
        counts = counts.filter(source=asked["source"])
    return counts.order_by().values_list("health").annotate(n=Sum("sessions"))
