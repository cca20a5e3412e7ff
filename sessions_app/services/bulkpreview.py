"""What a bulk repair would do, before anything is done: by rule, what is left alone and why, and a few sessions planned
for real."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from sessions_app.domain.places import Places, in_places
from sessions_app.domain.repair import RowChange
from sessions_app.domain.wish import NOTHING, Left, Wish
from sessions_app.models import Finding, Session
from sessions_app.ruletexts import rule_kind

from .bulk import Selection
from .repair.bench import Bench, session_bench
from .repair.refusal import RepairRefused

DIFF_LINES = 60
_GRAVEST = ("blocked", "at-risk", "info")
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule's findings of one safety. ``taken`` says whether these options repair them, ``why`` not where they do
    not."""

    rule: str
    title: str
    severity: str
    safety: str
    sessions: int
    findings: int
    taken: bool
    why: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Sessions of the selection that would not be changed, and why."""

    why: str
    sessions: int
    examples: tuple[tuple[int, str], ...]
    """Id and name of a few."""


@dataclass(frozen=True, slots=True)
class RowDiff:
    """One row before and after, as the lines of a unified diff of its pretty-printed JSON."""

    row: str
    lines: tuple[str, ...]
    cut: int
    """Lines left out."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One session's real plan. ``problem`` says why there is none."""

    session: int
    name: str
    operations: tuple[str, ...] = ()
    changes: int = 0
    diffs: tuple[RowDiff, ...] = ()
    accepted_before: bool | None = None
    accepted_after: bool | None = None
    warning: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """``repairable`` sessions would be changed: of those that are blocked, ``freed`` can go on after, and
    ``still_blocked`` only get better."""

    words: str
    total: int
    repairable: int
    freed: int
    still_blocked: int
    unjudged: int
    """Sessions not scanned yet: they are read and judged when their turn comes."""
    rules: tuple[RuleLine, ...]
    skipped: tuple[Skip, ...]
    samples: tuple[Sample, ...]

    @property
    def sentence(self) -> str:
        """What becomes of how many: "33 sessions: 16 will go on again, 17 are left alone"."""
        went_on = self.repairable - self.freed - self.still_blocked
        left = self.total - self.repairable - self.unjudged
        said = (
            (self.freed, "will go on again", "will go on again"),
            (self.still_blocked, "gets better and stays blocked", "get better and stay blocked"),
            (went_on, "that goes on gets better", "that go on get better"),
            (self.unjudged, "is judged when its turn comes", "are judged when their turn comes"),
            (left, "is left alone", "are left alone"),
        )
        told = ", ".join(f"{number:,} {one if number == 1 else many}" for number, one, many in said if number)
        return f"{self.total:,} session{'' if self.total == 1 else 's'}" + (f": {told}" if told else "")


def bulk_preview(*, selection: Selection, wish: Wish, now: datetime, samples: int = EXAMPLES) -> BulkPreview:
    """Counts come from the last scans; the samples are planned against the stored rows as they are now."""
    sessions = selection.query()
    chosen = sessions.order_by().values("pk")
    judged = Session.objects.filter(pk__in=chosen)
    lines = _rules(chosen, wish)
    mended, of_session = _taken(lines, wish), Finding.objects.filter(session=OuterRef("pk"))
    taken = Exists(of_session.filter(mended))
    gone, broken = Q(missing_since__isnull=False), Q(health=Session.Health.UNREADABLE) | ~Q(error="")
    unjudged = Q(scanned_at=None)
    repairable = judged.filter(taken).exclude(gone | broken | unjudged)
    any_finding = Exists(Finding.objects.filter(session=OuterRef("pk")))
    calm = judged.exclude(taken).exclude(gone | broken | unjudged)
    skipped = (
        _skip("No longer in the store", judged.filter(gone)),
        _skip("Rows that could not be read", judged.filter(broken).exclude(gone)),
        _skip("Nothing was found", calm.exclude(any_finding)),
        _skip("What was found is left alone by these options", calm.filter(any_finding)),
    )
    blocking = of_session.filter(severity="blocked")
    blocked, stays = Q(health=Session.Health.BLOCKED), Exists(blocking.exclude(mended)) | ~Exists(blocking)
    changed = repairable.aggregate(
        all=Count("pk"), blocked=Count("pk", filter=blocked), stay=Count("pk", filter=blocked & Q(stays))
    )
    first = sessions.filter(pk__in=repairable.values("pk")).select_related("source")[:samples]
    return BulkPreview(
        words=selection.words,
        total=judged.count(),
        repairable=changed["all"],
        freed=changed["blocked"] - changed["stay"],
        still_blocked=changed["stay"],
        unjudged=judged.filter(unjudged).exclude(gone | broken).count(),
        rules=lines,
        skipped=tuple(skip for skip in skipped if skip.sessions),
        samples=tuple(_sample(session, wish, now) for session in first),
    )


_LEFT: Mapping[Left, str] = {
    "": "",
    "not-asked": "not chosen",
    "manual": "done by hand",
    "offered": "only for information",
    "lossy": "drops something: tick it to include it",
}


def _taken(lines: Iterable[RuleLine], wish: Wish) -> Q:
    """Findings that these options repair, as far as a scan can tell."""
    taken: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        if line.taken:
            taken[line.severity, line.safety].append(line.rule)
    found = Q(key__in=[*wish.findings, *(key for key, name in wish.choices.items() if name != NOTHING)])
    for (severity, safety), rules in taken.items():
        found |= Q(severity=severity, safety=safety, rule__in=rules)
    return found


def _rules(chosen: QuerySet[Session, Any], wish: Wish) -> tuple[RuleLine, ...]:
    counted = (
        Finding.objects.filter(session__in=chosen)
        .order_by()
        .values_list("rule", "severity", "safety")
        .annotate(sessions=Count("session", distinct=True), findings=Count("pk"))
        .order_by("-sessions", "rule", "safety")
    )
    lines = []
    for rule, severity, safety, sessions, findings in counted:
        left = wish.leaves("", rule, severity, safety)
        lines.append(RuleLine(rule, rule_kind(rule), severity, safety, sessions, findings, not left, _LEFT[left]))
    return tuple(sorted(lines, key=lambda line: _GRAVEST.index(line.severity)))


def _skip(why: str, sessions: QuerySet[Session]) -> Skip:
    examples = sessions.order_by("-time_updated", "-pk").values_list("pk", "title", "stored_id")[:EXAMPLES]
    return Skip(why, sessions.count(), tuple((pk, title or stored_id) for pk, title, stored_id in examples))


def _sample(session: Session, wish: Wish, now: datetime) -> Sample:
    name = session.title or session.stored_id
    try:
        with session_bench(session=session, wish=wish, now=now) as bench:
            return _planned_sample(bench, session.pk, name)
    except RepairRefused as refusal:
        return Sample(session.pk, name, problem=refusal.words)


def _planned_sample(bench: Bench, number: int, name: str) -> Sample:
    plan = bench.plan
    if not plan.changes:
        return Sample(number, name, problem="Nothing to repair in it as it is stored now.")
    seen, known = bench.preview, Places(bench.decoded)
    words = (in_places(operation.why, known) for operation in plan.operations if operation.why)
    return Sample(
        session=number,
        name=name,
        operations=tuple(dict.fromkeys(words)),
        changes=len(plan.changes),
        diffs=tuple(row_diff(change, known) for change in plan.changes[:EXAMPLES]),
        accepted_before=seen.accepted_before,
        accepted_after=seen.accepted_after,
        warning=bench.warning,
    )


def row_diff(change: RowChange, known: Places, limit: int = DIFF_LINES) -> RowDiff:
    """A row change in lines: what goes, what comes; ``known`` are the places of its session."""
    before, after = _lines(change.before), _lines(change.after)
    lines = [
        line for line in difflib.unified_diff(before, after, n=2, lineterm="") if not line.startswith(("---", "+++"))
    ]
    keys = [str(value) for value in change.key.values()]
    place = next((str(place) for key in keys if (place := known.of(key))), "")
    return RowDiff(place or f"{change.table} {' '.join(keys)}", tuple(lines[:limit]), max(0, len(lines) - limit))


def _lines(row: dict[str, object] | None) -> list[str]:
    """Columns a line each, JSON text in them laid out."""
    if row is None:
        return []
    lines: list[str] = []
    for column, value in row.items():
        try:
            shown = json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
        except ValueError:
            shown = value
        lines += f"{column}: {json.dumps(shown, indent=2, ensure_ascii=False, default=repr)}".splitlines()
    return lines
