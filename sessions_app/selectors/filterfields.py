"""The fields of the filter of sessions, an entry each.

Query string, API, admin, saved views, bulk repairs, the form and the sentence in words all come from ``FIELDS``: one
more field is one more entry.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any, Literal

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now

from sessions_app.domain.rules import REGISTRY
from sessions_app.models import Finding, Message, Part, Repair, Session, SessionCount, Source, Verdict

from .phrases import Phrase
from .searchindex import blocks_holding

PROTOCOL_WORDS = {
    "anthropic-messages": "Anthropic Messages",
    "openai-chat": "OpenAI Chat",
    "openai-responses": "OpenAI Responses",
    "gemini": "Gemini",
    "bedrock-converse": "Bedrock Converse",
}
HEALTH_WORDS = {health.value: str(health.label).lower() for health in Session.Health}
HAS = {
    "duplicate": "a duplicate call id",
    "orphan": "an orphan call or result",
    "stuck": "a stuck tool or open turn",
    "leftovers": "leftovers of a failed attempt",
}
FATE = {
    "safe": "that can be repaired without losing anything",
    "choice": "whose repair needs a choice",
    "none": "that nothing repairs",
}
_HAS_RULES = {
    "duplicate": Q(rule__startswith="duplicate-call-id"),
    "orphan": Q(rule__startswith="orphan-tool"),
    "stuck": Q(rule__in=("stuck-tool", "open-turn")),
    "leftovers": Q(rule__startswith="failed-attempt-leftovers"),
}
REPAIRED = {
    "yes": "repaired",
    "week": "repaired in the last seven days",
    "no": "never repaired",
    "undone": "with a repair that was undone",
}
SORTS: Mapping[str, tuple[str, ...]] = {
    "health": ("health_rank", "-time_updated", "-id"),
    "-health": ("-health_rank", "-time_updated", "-id"),
    "title": ("search", "id"),
    "-title": ("-search", "-id"),
    "updated": ("time_updated", "id"),
    "-updated": ("-time_updated", "-id"),
    "parts": ("part_count", "id"),
    "-parts": ("-part_count", "-id"),
    "size": ("size_bytes", "id"),
    "-size": ("-size_bytes", "-id"),
    "findings": ("blocked_count", "at_risk_count", "id"),
    "-findings": ("-blocked_count", "-at_risk_count", "-id"),
}
"""Orders of the list, of columns that its index holds (``session_listed``); every one ends with the id, so that pages
never overlap."""

TEXT_LIMIT = 500
"""Characters of a text."""


@dataclass(frozen=True, slots=True)
class Having:
    """Sessions to which one of ``rows`` belongs. Few of them are looked up by their keys; where many match, a page is
    found sooner by going through sessions in their order and asking of each."""

    rows: QuerySet[Any]

    @property
    def looked_up(self) -> Q:
        return Q(pk__in=self.rows.order_by().values("session"))

    @property
    def asked(self) -> Exists:
        return Exists(self.rows.filter(session=OuterRef("pk")))


type Condition = Q | Having


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the form offers; ``count`` sessions have it, 0 = not counted."""

    value: str
    label: str
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One condition: how it is read (``kind`` and ``values``), said, looked up, and asked for in the form."""

    name: str
    kind: Literal["text", "choice", "choices", "number", "date"]
    """Its value: str, str, a tuple of str, int, str (an ISO day)."""
    words: Callable[[Any], str] = str
    condition: Callable[[Any], Condition] | None = None
    """None: it chooses no sessions (the order)."""
    values: Mapping[str, str] = field(default_factory=dict)
    """All that it can be, with words for each; empty = anything of its kind."""
    offered: Callable[[Offers], tuple[Choice, ...]] | None = None
    """What the form offers where that comes from what is stored."""
    default: Any = ""
    label: str = ""
    """"" = the form does not ask for it, and only carries it on."""
    anything: str = "Any"
    """What the form calls "no condition"."""
    placeholder: str = ""
    more: bool = False
    """Behind "More filters"."""
    alias: str = ""
    """Another name in query strings."""
    about: str = ""
    """For the API's document."""

    def read(self, given: list[str]) -> Any:
        """The value of what a query string says, which is not empty. Raises ``ValueError``."""
        return _READ[self.kind](given, self.values)

    def strange(self, given: list[str]) -> str:
        """The first of the names given that is none of its values."""
        return next((name for item in given for name in item.split(",") if name not in self.values), given[-1])

    def choices(self, offers: Offers) -> tuple[Choice, ...] | None:
        """What to choose from, None = it is typed in."""
        if self.offered is not None:
            return self.offered(offers)
        return (
            None
            if not self.values
            else tuple(Choice(value, words[:1].upper() + words[1:]) for value, words in self.values.items())
        )


def _text(given: list[str], values: Mapping[str, str]) -> str:
    text = given[-1]
    if len(text) > TEXT_LIMIT or (values and text not in values):
        raise ValueError(text)
    return text


def _choices(given: list[str], values: Mapping[str, str]) -> tuple[str, ...]:
    wanted = {name for item in given for name in item.split(",")}
    if wanted - values.keys():
        raise ValueError(given)
    return tuple(name for name in values if name in wanted)


def _number(given: list[str], values: Mapping[str, str]) -> int:
    number = int(given[-1])
    if not 0 <= number < 2**63:
        raise ValueError(given[-1])
    return number


def _date(given: list[str], values: Mapping[str, str]) -> str:
    return dt.date.fromisoformat(given[-1]).isoformat()


_READ: Mapping[str, Callable[[list[str], Mapping[str, str]], Any]] = {
    "text": _text,
    "choice": _text,
    "choices": _choices,
    "number": _number,
    "date": _date,
}


def _search(text: str) -> Q:
    return reduce(operator.and_, (Q(search__contains=word) for word in text.lower().split()))


def _finding(condition: Q) -> Having:
    return Having(Finding.objects.filter(condition))


def _model(value: str) -> Q:
    provider, _, model = value.partition("/")
    return Q(provider=provider, model=model)


def _holds(stored_id: str) -> Q:
    one = Session.objects.filter(stored_id=stored_id).order_by().values("pk")
    messages = Message.objects.filter(stored_id=stored_id).order_by().values("session")
    parts = Part.objects.filter(stored_id=stored_id).order_by().values("session")
    calls = Part.objects.filter(~Q(call_id=""), call_id=stored_id).order_by().values("session")  # as its index says
    return Q(pk__in=one.union(messages, parts, calls))


def _repaired(wanted: str) -> Condition:
    repairs = Repair.objects.filter(state=Repair.State.APPLIED, undoes=None)
    if wanted == "week":
        return Having(repairs.filter(applied_at__gte=Now() - dt.timedelta(days=7)))
    if wanted == "undone":
        return Having(Repair.objects.filter(state=Repair.State.UNDONE))
    return Having(repairs) if wanted == "yes" else ~Q(Having(repairs).asked)


def _day(text: str) -> int:
    """Milliseconds at which the day begins, UTC."""
    day = dt.datetime.combine(dt.date.fromisoformat(text), dt.time(), tzinfo=dt.UTC)
    return int(day.timestamp()) * 1000


class Offers:
    """What forms offer that comes from what is stored, each asked of the database once."""

    @cached_property
    def _values(self) -> Mapping[str, list[tuple[str, int]]]:
        kinds = (SessionCount.Kind.RULE, SessionCount.Kind.MODEL)
        rows = SessionCount.objects.filter(kind__in=kinds).order_by().values_list("kind", "value")
        found: dict[str, list[tuple[str, int]]] = {kind: [] for kind in kinds}
        for kind, value, number in rows.annotate(n=Sum("sessions")).filter(n__gt=0).order_by("-n", "value"):
            found[kind].append((value, number))
        return found

    def most(self, kind: SessionCount.Kind) -> tuple[Choice, ...]:
        """The values of this kind that most sessions have, a hundred at most."""
        return tuple(Choice(value, value, count) for value, count in self._values[kind][:100])

    def sources(self) -> tuple[Choice, ...]:
        named = Source.objects.order_by("name", "id").values_list("pk", "name")
        return tuple(Choice(str(pk), name) for pk, name in named)


def _source_name(number: int) -> str:
    name = Source.objects.filter(pk=number).values_list("name", flat=True).first()
    return name or f"store {number}"


FIELDS: tuple[Field, ...] = (
    Field(
        name="q",
        kind="text",
        label="Search",
        placeholder="Title, directory, session id",
        about="words in title, directory or ids",
        words=lambda text: f"matching “{text}”",
        condition=_search,
    ),
    Field(
        name="said",
        kind="text",
        label="Conversation holds",
        placeholder="Tool name, error text, words",
        about="words of the conversation, names of tools and texts of errors among them",
        words=lambda text: f"whose conversation holds “{text}”",
        condition=lambda text: Having(blocks_holding(Phrase(text))),
    ),
    Field(
        name="holds",
        kind="text",
        alias="id",
        about="a stored id (session, message, part or call) that the session is or holds",
        words=lambda text: f"that hold {text}",
        condition=_holds,
    ),
    Field(
        name="health",
        kind="choices",
        values=HEALTH_WORDS,
        default=(),
        about="any of these",
        words=lambda names: " or ".join(HEALTH_WORDS[name] for name in names),
        condition=lambda names: Q(health__in=names),
    ),
    Field(
        name="rule",
        kind="text",
        values={code: code for code in REGISTRY},
        offered=lambda offers: offers.most(SessionCount.Kind.RULE),
        label="Rule",
        about="with a finding of this rule",
        words=lambda code: f"with {code}",
        condition=lambda code: _finding(Q(rule=code)),
    ),
    Field(
        name="rejected",
        kind="choice",
        values=PROTOCOL_WORDS,
        label="Refused by",
        anything="Any or none",
        about="refused by this protocol",
        words=lambda name: f"refused by {PROTOCOL_WORDS[name]}",
        condition=lambda name: Having(Verdict.objects.filter(protocol=name, accepted=False)),
    ),
    Field(
        name="fate",
        kind="choice",
        values=FATE,
        label="Repair",
        anything="Any or none",
        about="what can be done about its gravest findings",
        words=lambda name: FATE[name],
        condition=lambda name: Q(fate=name),
    ),
    Field(
        name="model",
        kind="text",
        offered=lambda offers: offers.most(SessionCount.Kind.MODEL),
        label="Model last used",
        about="provider/model last used",
        words=lambda name: f"last used with {name}",
        condition=_model,
    ),
    Field(
        name="source",
        kind="number",
        default=None,
        offered=lambda offers: offers.sources(),
        label="Store",
        words=lambda number: f"from {_source_name(number)}",
        condition=lambda number: Q(source=number),
    ),
    Field(
        name="has",
        kind="choice",
        values=HAS,
        label="Holds",
        anything="Anything",
        more=True,
        words=lambda name: f"with {HAS[name]}",
        condition=lambda name: _finding(_HAS_RULES[name]),
    ),
    Field(
        name="repaired",
        kind="choice",
        values=REPAIRED,
        label="Repairs",
        anything="Any or none",
        more=True,
        words=lambda name: REPAIRED[name],
        condition=_repaired,
    ),
    Field(
        name="directory",
        kind="text",
        label="Directory contains",
        more=True,
        words=lambda text: f"in {text}",
        condition=lambda text: Q(search__between_lines=" ".join(text.lower().split())),
    ),
    Field(
        name="since",
        kind="date",
        label="Updated from",
        more=True,
        about="updated on or after this day",
        words=lambda day: f"updated on or after {day}",
        condition=lambda day: Q(time_updated__gte=_day(day)),
    ),
    Field(
        name="until",
        kind="date",
        label="Updated to",
        more=True,
        words=lambda day: f"updated on or before {day}",
        condition=lambda day: Q(time_updated__lt=_day(day) + 86_400_000),
    ),
    Field(
        name="min_parts",
        kind="number",
        default=None,
        label="Parts, at least",
        more=True,
        words=lambda number: f"with {number:,} parts or more",
        condition=lambda number: Q(part_count__gte=number),
    ),
    Field(
        name="max_parts",
        kind="number",
        default=None,
        label="Parts, at most",
        more=True,
        words=lambda number: f"with {number:,} parts or fewer",
        condition=lambda number: Q(part_count__lte=number),
    ),
    Field(name="sort", kind="choice", values={name: name for name in SORTS}, default="health"),
)
BY_NAME: Mapping[str, Field] = MappingProxyType(
    {name: field for field in FIELDS for name in (field.name, field.alias) if name}
)
