"""The one filter of sessions: the list, the API, "select all matching", bulk repairs and exports speak through it.

It never changes, comes from a query string, goes back to one, and says itself in words. ``filterfields`` says what it
can ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from django.db.models import BigIntegerField, Expression, ExpressionWrapper, F, OrderBy, Q, QuerySet, Value
from django.db.models.functions import Concat
from django.http import QueryDict

from sessions_app.domain.near import did_you_mean
from sessions_app.models import Session

from .filterfields import BY_NAME, FIELDS, SORTS, Choice, Field, Having, Offers


@dataclass(frozen=True, slots=True)
class Fault:
    """A name or a value that nobody understands, in words; ``name`` is what the query string has."""

    name: str
    words: str


class FilterRefused(ValueError):
    """The filter asks for what nobody understands. Where something is done to all that fits, a name misspelt must not
    mean everything."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(f"The filter does not understand {', '.join(fault.words for fault in faults)}.")
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Term:
    """One condition in words, and the query string without it."""

    words: str
    without: str
    name: str


@dataclass(frozen=True, slots=True)
class Control:
    """A field as the form asks for it: what it offers, and the value it has, "" = none."""

    field: Field
    value: str
    choices: tuple[Choice, ...] | None
    """None: it is typed in."""


_READ_THROUGH = ("q", "directory")
"""Fields that are looked for in each session's texts."""
_BESIDE = ("source", "time_updated", "part_count", "health", "fate")
_TEXTS = ("search", "health", "fate")


class SessionFilter:
    """Which sessions. ``values`` has the fields that restrict, and the order; ``wanted["rule"]`` is a value or the
    field's default."""

    __slots__ = ("faults", "values")

    values: Mapping[str, Any]
    faults: tuple[Fault, ...]
    """What the query string asked for and nobody understands; shown, never silently applied."""

    def __init__(self, *, faults: tuple[Fault, ...] = (), **values: Any) -> None:
        known = {field.name: field.default for field in FIELDS}
        self.values = MappingProxyType({name: value for name, value in values.items() if value != known[name]})
        self.faults = faults

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionFilter) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.to_query())

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name, BY_NAME[name].default)

    @classmethod
    def from_query(cls, query: QueryDict | Mapping[str, Any], *, also: Collection[str] = ()) -> Self:
        """Reads a query string (or the same as a JSON object), in which the names ``also`` are somebody else's. Names
        and values that make no sense are left out and named."""
        values: dict[str, Any] = {}
        faults: list[Fault] = []
        for name in query:
            field, given = BY_NAME.get(name), _given(query, name)
            if name in also:
                continue
            if field is None:
                faults.append(Fault(name, f"{name}{did_you_mean(name, [*BY_NAME, *also])}"))
                continue
            try:
                if given and not all(given):
                    raise ValueError(name)
                if given:
                    values[field.name] = field.read(given)
            except ValueError:
                said = f"{name}={','.join(given)[:100]}"
                faults.append(Fault(name, f"{said}{did_you_mean(field.strange(given), field.values)}"))
        return cls(**values, faults=tuple(faults))

    @classmethod
    def understood(cls, query: QueryDict | Mapping[str, Any], *, also: Collection[str] = ()) -> Self:
        """As ``from_query``. Raises ``FilterRefused`` where something was left out."""
        found = cls.from_query(query, also=also)
        if found.faults:
            raise FilterRefused(found.faults)
        return found

    @property
    def ignored(self) -> tuple[str, ...]:
        """What was left out, in words."""
        return tuple(fault.words for fault in self.faults)

    def to_query(self, **changes: Any) -> str:
        """The canonical query string, with ``changes`` applied (None takes a field out)."""
        mine = {name: value for name, value in changes.items() if name in BY_NAME and value is not None}
        kept = {name: value for name, value in self.values.items() if name not in changes}
        query = QueryDict(mutable=True)
        for name, value in SessionFilter(**kept, **mine)._ordered():
            query.setlist(name, list(map(str, value)) if isinstance(value, tuple) else [str(value)])
        for name, value in changes.items():
            if name not in BY_NAME and value is not None:
                query[name] = str(value)
        return query.urlencode()

    def without(self, name: str) -> SessionFilter:
        """The same without one condition."""
        return SessionFilter(**{key: value for key, value in self.values.items() if key != name})

    def also(self, **values: Any) -> SessionFilter:
        """The same with these conditions too."""
        return SessionFilter(**{**self.values, **values})

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the fields that restrict."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self._ordered()}

    @property
    def restricts(self) -> bool:
        return bool(self.values.keys() - {"sort"})

    @property
    def order(self) -> tuple[str, ...]:
        return SORTS[self["sort"]]

    def terms(self) -> tuple[Term, ...]:
        """The conditions in words, each with the query that drops it."""
        return tuple(
            Term(BY_NAME[name].words(value), self.to_query(**{name: None}), name)
            for name, value in self._ordered()
            if BY_NAME[name].condition
        )

    def sentence(self, terms: tuple[Term, ...] | None = None) -> str:
        """The whole filter in words; ``terms`` where they are at hand."""
        words = [term.words for term in (self.terms() if terms is None else terms)]
        return "Sessions " + ", ".join(words) if words else "All sessions"

    def controls(self) -> tuple[Control, ...]:
        """What the form asks for. A value that it would not offer is offered too."""
        found = []
        offers = Offers()
        for field in FIELDS:
            if field.label:
                value, choices = str(self.values.get(field.name, "")), field.choices(offers)
                if choices is not None and value and value not in {choice.value for choice in choices}:
                    choices = (Choice(value, value), *choices)
                found.append(Control(field, value, choices))
        return tuple(found)

    def carried(self) -> tuple[tuple[str, str], ...]:
        """Names and values that the form does not ask for and carries on."""
        return tuple(
            (name, str(item))
            for name, value in self._ordered()
            if not BY_NAME[name].label
            for item in (value if isinstance(value, tuple) else (value,))
        )

    def apply(self, sessions: QuerySet[Session], *, many: bool = False) -> QuerySet[Session]:
        """The sessions that match, in the filter's order. ``many``: so many do that the first of them are found soonest
        by going through all in this order."""
        return self.chosen(sessions, many=many).order_by(*self.order)

    def found_first(self, sessions: QuerySet[Session]) -> QuerySet[Session]:
        """As ``apply``, where few match: the order is one of expressions that no index has, so that a database first
        finds them all, and never goes through everything in order to meet them."""
        return self.chosen(sessions).order_by(*map(_sorted, self.order))

    def chosen(self, sessions: QuerySet[Session], *, many: bool = False) -> QuerySet[Session]:
        """The sessions that match, in no order."""
        reads = not many and not self.values.keys().isdisjoint(_READ_THROUGH)
        for name, value in self._ordered():
            if condition := BY_NAME[name].condition:
                asked = condition(value)
                if isinstance(asked, Having):
                    sessions = sessions.filter(asked.asked if many else asked.looked_up)
                else:
                    sessions = _filtered_beside(sessions, asked) if reads else sessions.filter(asked)
        return sessions.order_by()

    def _ordered(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, self.values[field.name]) for field in FIELDS if field.name in self.values)


def _computed(name: str) -> Expression:
    """A column's value, which is in no index of the column."""
    if name in _TEXTS:
        return Concat(F(name), Value(""))
    return ExpressionWrapper(F(name) + 0, output_field=BigIntegerField())


def _sorted(column: str) -> OrderBy:
    return _computed(column.removeprefix("-")).desc() if column.startswith("-") else _computed(column).asc()


def _filtered_beside(sessions: QuerySet[Session], asked: Q) -> QuerySet[Session]:
    """Where all texts are read anyway, from the narrow index that has them: other columns of it are compared there too,
    or SQLite would look up in the rows what one of their own indexes leaves."""
    for child in asked.children:
        column, value = child if isinstance(child, tuple) else ("", None)
        name, _, how = str(column).partition("__")
        if name not in _BESIDE:
            return sessions.filter(asked)
        compared = {f"{name}_computed__{how or 'exact'}": value}
        sessions = sessions.alias(**{f"{name}_computed": _computed(name)}).filter(**compared)
    return sessions


def _given(query: QueryDict | Mapping[str, Any], name: str) -> list[str]:
    values = query.getlist(name) if isinstance(query, QueryDict) else query.get(name)
    items = values if isinstance(values, (list, tuple)) else [] if values is None else [values]
    # Of nothing but NUL "" is left, which is refused: it is no condition, and must not mean everything.
    return [text.replace("\x00", "") for item in items if (text := str(item).strip())]
