"""The one filter of sessions: the list, the API, "select all matching", bulk repairs and exports speak through it.

It is frozen, comes from a query string, goes back to one, and says itself in words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.http import QueryDict

from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.models import Finding, Message, Part, Repair, Session, Verdict

HEALTH_WORDS = {
    "blocked": "blocked",
    "at-risk": "at risk",
    "healthy": "healthy",
    "unreadable": "unreadable",
    "not-scanned": "not scanned",
}
HAS = {
    "duplicate": ("a duplicate call id", "duplicate-call-id"),
    "orphan": ("an orphan call or result", "orphan-tool"),
    "stuck": ("a stuck tool or open turn", ""),
    "leftovers": ("leftovers of a failed attempt", "failed-attempt-leftovers"),
}
REPAIRED = {
    "yes": "repaired",
    "week": "repaired in the last seven days",
    "no": "never repaired",
    "undone": "with a repair that was undone",
}
SORTS: dict[str, tuple[str, ...]] = {
    "health": ("health_rank", "-time_updated", "-id"),
    "-health": ("-health_rank", "-time_updated", "-id"),
    "title": ("title", "id"),
    "-title": ("-title", "-id"),
    "updated": ("time_updated", "id"),
    "-updated": ("-time_updated", "-id"),
    "parts": ("part_count", "id"),
    "-parts": ("-part_count", "-id"),
    "size": ("size_bytes", "id"),
    "-size": ("-size_bytes", "-id"),
    "findings": ("blocked_count", "at_risk_count", "id"),
    "-findings": ("-blocked_count", "-at_risk_count", "-id"),
}
"""Orders of the list; every one ends with the id, so that pages never overlap."""

PROTOCOL_WORDS = {
    "anthropic-messages": "Anthropic Messages",
    "openai-chat": "OpenAI Chat",
    "openai-responses": "OpenAI Responses",
    "gemini": "Gemini",
    "bedrock-converse": "Bedrock Converse",
}


@dataclass(frozen=True, slots=True)
class Term:
    """One condition in words, and the query string without it."""

    words: str
    without: str


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions. Every field is as in the query string, "" or None where it does not restrict."""

    q: str = ""
    health: tuple[str, ...] = ()
    rule: str = ""
    rejected: str = ""
    source: int | None = None
    model: str = ""
    directory: str = ""
    has: str = ""
    repaired: str = ""
    since: str = ""
    until: str = ""
    min_parts: int | None = None
    max_parts: int | None = None
    holds: str = ""
    """An id (session, message, part or call) that the session holds."""
    sort: str = "health"
    ignored: tuple[str, ...] = field(default=(), compare=False)
    """What the query string asked for and nobody understands; shown, never silently applied."""

    @classmethod
    def from_query(cls, query: QueryDict | Mapping[str, Any]) -> Self:
        """Reads a query string (or the same as a JSON object). Values that make no sense are left out and named."""
        values: dict[str, Any] = {}
        ignored: list[str] = []
        for name, read in _READERS.items():
            given = _given(query, name)
            if not given:
                continue
            try:
                values[name] = read(given)
            except ValueError:
                ignored.append(f"{name}={','.join(given)}")
        return cls(**values, ignored=tuple(ignored))

    @staticmethod
    def strangers(query: Iterable[str]) -> tuple[str, ...]:
        """Names that no filter has. Where something is done to all that fits, a name misspelt must not mean
        everything."""
        return tuple(name for name in query if name not in _READERS)

    def to_query(self, **changes: Any) -> str:
        """The canonical query string, with ``changes`` applied (None takes a field out)."""
        names = {item.name for item in fields(self)} - {"ignored"}
        mine = {name: value for name, value in changes.items() if name in names}
        wanted = replace(self, **{name: _EMPTY[name] if value is None else value for name, value in mine.items()})
        query = QueryDict(mutable=True)
        for name in _READERS:
            value = getattr(wanted, name)
            if value == _EMPTY[name]:
                continue
            query.setlist(name, list(map(str, value)) if isinstance(value, tuple) else [str(value)])
        for name, value in changes.items():
            if name not in names and value is not None:
                query[name] = str(value)
        return query.urlencode()

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the fields that restrict."""
        found = {}
        for name in _READERS:
            value = getattr(self, name)
            if value != _EMPTY[name]:
                found[name] = list(value) if isinstance(value, tuple) else value
        return found

    @property
    def restricts(self) -> bool:
        return replace(self, sort="health") != SessionFilter()

    def terms(self, source_name: Callable[[int], str] = str) -> tuple[Term, ...]:
        """The conditions in words, each with the query that drops it."""
        found: list[tuple[str, str]] = []
        if self.q:
            found.append(("q", f"matching “{self.q}”"))
        if self.holds:
            found.append(("holds", f"that hold {self.holds}"))
        if self.health:
            found.append(("health", " or ".join(HEALTH_WORDS[name] for name in self.health)))
        if self.rule:
            found.append(("rule", f"with {self.rule}"))
        if self.rejected:
            found.append(("rejected", f"rejected by {PROTOCOL_WORDS[self.rejected]}"))
        if self.has:
            found.append(("has", f"with {HAS[self.has][0]}"))
        if self.source is not None:
            found.append(("source", f"from {source_name(self.source)}"))
        if self.model:
            found.append(("model", f"last used with {self.model}"))
        if self.directory:
            found.append(("directory", f"in {self.directory}"))
        if self.repaired:
            found.append(("repaired", REPAIRED[self.repaired]))
        if self.since:
            found.append(("since", f"updated on or after {self.since}"))
        if self.until:
            found.append(("until", f"updated on or before {self.until}"))
        if self.min_parts is not None:
            found.append(("min_parts", f"with {self.min_parts:,} parts or more"))
        if self.max_parts is not None:
            found.append(("max_parts", f"with {self.max_parts:,} parts or fewer"))
        return tuple(Term(words, self.to_query(**{name: None})) for name, words in found)

    def sentence(self, source_name: Callable[[int], str] = str) -> str:
        """ "Sessions blocked, rejected by Gemini" - what the list shows, for people."""
        words = [term.words for term in self.terms(source_name)]
        return "Sessions " + ", ".join(words) if words else "All sessions"

    def apply(self, sessions: QuerySet[Session]) -> QuerySet[Session]:
        """The sessions that match, in the filter's order."""
        for condition in self._conditions():
            sessions = sessions.filter(condition)
        return sessions.order_by(*SORTS[self.sort])

    def _conditions(self) -> Iterable[Any]:
        yield from (Q(search__contains=word) for word in self.q.lower().split())
        if self.holds:
            yield _holds(self.holds)
        if self.health:
            yield Q(health__in=self.health)
        if self.rule:
            yield _finding(rule=self.rule)
        if self.rejected:
            yield Exists(Verdict.objects.filter(session=OuterRef("pk"), protocol=self.rejected, accepted=False))
        if self.has == "stuck":
            yield _finding(rule__in=("stuck-tool", "open-turn"))
        elif self.has:
            yield _finding(rule__startswith=HAS[self.has][1])
        if self.source is not None:
            yield Q(source=self.source)
        if self.model:
            provider, _, model = self.model.partition("/")
            yield Q(provider=provider, model=model)
        if self.directory:
            yield Q(directory__contains=self.directory)
        if self.repaired:
            yield _repaired(self.repaired)
        if self.since:
            yield Q(time_updated__gte=_day(self.since))
        if self.until:
            yield Q(time_updated__lt=_day(self.until) + 86_400_000)
        if self.min_parts is not None:
            yield Q(part_count__gte=self.min_parts)
        if self.max_parts is not None:
            yield Q(part_count__lte=self.max_parts)


def _given(query: QueryDict | Mapping[str, Any], name: str) -> list[str]:
    values = query.getlist(name) if isinstance(query, QueryDict) else query.get(name)
    if values is None:
        return []
    items = values if isinstance(values, (list, tuple)) else [values]
    return [text for item in items if (text := str(item).strip().replace("\x00", ""))]


def _text(given: list[str]) -> str:
    return given[-1][:500]


def _one_of(allowed: Iterable[str]) -> Callable[[list[str]], str]:
    known = frozenset(allowed)

    def read(given: list[str]) -> str:
        if given[-1] not in known:
            raise ValueError(given[-1])
        return given[-1]

    return read


def _healths(given: list[str]) -> tuple[str, ...]:
    wanted = {name for item in given for name in item.split(",")}
    if wanted - HEALTH_WORDS.keys():
        raise ValueError(given)
    return tuple(name for name in HEALTH_WORDS if name in wanted)


def _whole(given: list[str]) -> int:
    number = int(given[-1])
    if not 0 <= number < 2**63:
        raise ValueError(given[-1])
    return number


def _date(given: list[str]) -> str:
    return dt.date.fromisoformat(given[-1]).isoformat()


def _day(text: str) -> int:
    """Milliseconds at which the day begins, UTC."""
    day = dt.datetime.combine(dt.date.fromisoformat(text), dt.time(), tzinfo=dt.UTC)
    return int(day.timestamp()) * 1000


_READERS: dict[str, Callable[[list[str]], Any]] = {
    "q": _text,
    "health": _healths,
    "rule": _text,
    "rejected": _one_of(PROTOCOLS),
    "source": _whole,
    "model": _text,
    "directory": _text,
    "has": _one_of(HAS),
    "repaired": _one_of(REPAIRED),
    "since": _date,
    "until": _date,
    "min_parts": _whole,
    "max_parts": _whole,
    "holds": _text,
    "sort": _one_of(SORTS),
}
_EMPTY: dict[str, Any] = {item.name: item.default for item in fields(SessionFilter)}


def _finding(**conditions: Any) -> Exists:
    return Exists(Finding.objects.filter(session=OuterRef("pk"), **conditions))


def _holds(stored_id: str) -> Q:
    messages = Message.objects.filter(stored_id=stored_id).values("session_id")
    parts = Part.objects.filter(Q(stored_id=stored_id) | Q(call_id=stored_id)).values("session_id")
    return Q(stored_id=stored_id) | Q(pk__in=messages) | Q(pk__in=parts)


def _repaired(wanted: str) -> Any:
    repairs = Repair.objects.filter(session=OuterRef("pk"), state=Repair.State.APPLIED, undoes=None)
    applied = Exists(repairs)
    if wanted == "week":
        return Exists(repairs.filter(applied_at__gte=Now() - dt.timedelta(days=7)))
    if wanted == "undone":
        return Exists(Repair.objects.filter(session=OuterRef("pk"), state=Repair.State.UNDONE))
    return applied if wanted == "yes" else ~applied
