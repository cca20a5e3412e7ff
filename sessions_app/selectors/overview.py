"""The overview: how many sessions cannot go on, why, who refuses, what can be done.

From the kept counts, so that it costs the same for ten sessions and for a hundred thousand.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, Sum
from django.db.models.functions import TruncDate

from sessions_app.models import HealthDay, ImportJob, Repair, Session, SessionCount

from .filterfields import PROTOCOL_WORDS

DAYS = 30


@dataclass(frozen=True, slots=True)
class Freed:
    """Blocked sessions by what can be done about them: without losing anything, with a choice, nothing."""

    safe: int
    choice: int
    none: int


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault with its sessions. ``severity``: "blocked" where it blocks some; then ``sessions`` are those, and
    ``protocols`` their own ones, the most first. ``safe``: sessions where all of it has a safe repair."""

    rule: str
    severity: str
    sessions: int
    safe: int
    protocols: tuple[str, ...] = ()

    @property
    def by_choice(self) -> int:
        return max(0, self.sessions - self.safe)


@dataclass(frozen=True, slots=True)
class Refuses:
    """A protocol: of the sessions whose next message goes to it, how many are blocked; how many of all it refuses."""

    protocol: str
    blocked: int
    own: int
    all: int


@dataclass(frozen=True, slots=True)
class Day:
    """How all sessions stood that day, None where nothing was noted yet, and the repairs made."""

    day: dt.date
    health: Mapping[str, int] | None
    repairs: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Imports that run now."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Overview:
    health: Mapping[str, int]
    freed: Freed
    kinds: tuple[Kind, ...]
    """Blocking first, then at risk; most sessions first. What is only for information is left out."""
    refuses: tuple[Refuses, ...]
    days: tuple[Day, ...]
    reading: Reading | None

    @property
    def total(self) -> int:
        return sum(self.health.values())

    @property
    def blocked(self) -> int:
        """Sessions that cannot go on."""
        return self.health["blocked"] + self.health["unreadable"]


type _Counts = Mapping[str, Mapping[str, Counter[str]]]
"""Kind of count -> value -> health -> sessions."""


def overview(today: dt.date) -> Overview:
    """Everything the overview says of sessions, in four queries."""
    found: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    counts = SessionCount.objects.order_by().values_list("kind", "value", "health").annotate(n=Sum("sessions"))
    for kind, value, health, number in counts.filter(n__gt=0).exclude(kind=SessionCount.Kind.MODEL):
        found[kind][value][health] = number
    kinds = SessionCount.Kind
    fates = found[kinds.FATE]
    return Overview(
        health={health: found[kinds.ANY][""][health] for health in Session.RANK},
        freed=Freed(*(fates[fate]["blocked"] for fate in ("safe", "choice", "none"))),
        kinds=tuple(_kinds(found)),
        refuses=tuple(
            Refuses(
                protocol,
                found[kinds.OWN][protocol]["blocked"],
                found[kinds.OWN][protocol].total(),
                found[kinds.REJECTED][protocol].total(),
            )
            for protocol in sorted(
                PROTOCOL_WORDS,
                key=lambda name: (-found[kinds.OWN][name]["blocked"], -found[kinds.OWN][name].total(), name),
            )
        ),
        days=tuple(_days(today)),
        reading=_reading(),
    )


def _kinds(found: _Counts) -> Iterable[Kind]:
    kinds = SessionCount.Kind
    blocked: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for value, by_health in found[kinds.REFUSED].items():
        rule, _, protocol = value.partition(" ")
        blocked[rule][protocol] += by_health["blocked"]
    made = []
    for rule in {*blocked, *found[kinds.RISK]}:
        refused, safe = +blocked[rule], found[kinds.SAFE][rule]
        sessions = refused.total() or found[kinds.RISK][rule].total()
        mended = min(sessions, safe["blocked"] if refused else safe.total())
        if sessions:
            protocols = tuple(name for name, _ in refused.most_common())
            made.append(Kind(rule, "blocked" if refused else "at-risk", sessions, mended, protocols))
    return sorted(made, key=lambda kind: (kind.severity != "blocked", -kind.sessions, kind.rule))


def _days(today: dt.date) -> Iterable[Day]:
    """The last thirty days, oldest first; a day on which nothing was noted stands as the one before."""
    first = today - dt.timedelta(days=DAYS - 1)
    columns = {health: health.replace("-", "_") for health in Session.RANK}
    rows = HealthDay.objects.filter(day__gte=first, day__lte=today).order_by("day").values_list("day")
    noted = {
        day: dict(zip(columns, numbers, strict=True))
        for day, *numbers in rows.annotate(**{f"all_{name}": Sum(name) for name in columns.values()})
    }
    made = Repair.objects.filter(applied_at__gte=dt.datetime.combine(first, dt.time(), tzinfo=dt.UTC), undoes=None)
    repairs = dict(made.order_by().values_list(TruncDate("applied_at")).annotate(n=Count("pk")))
    last: Mapping[str, int] | None = None
    for number in range(DAYS):
        day = first + dt.timedelta(days=number)
        last = noted.get(day, last)
        yield Day(day, last, repairs.get(day, 0))


def _reading() -> Reading | None:
    jobs = list(ImportJob.objects.filter(state__in=ImportJob.ACTIVE).values_list("done", "failed", "total"))
    if not jobs:
        return None
    return Reading(sum(done + failed for done, failed, _ in jobs), sum(total for *_, total in jobs))
