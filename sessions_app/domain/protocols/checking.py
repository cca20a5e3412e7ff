"""What every protocol's rules share: the request under judgement, and how a broken rule is written down
(docs/contract/wire.md#0, #6.6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sessions_app.domain import jsjson
from sessions_app.domain.halves import halved
from sessions_app.domain.protocols.table import WireRule
from sessions_app.domain.protocols.traits import Check, Traits, applicable, needs
from sessions_app.domain.wire.lowered import NOBODY, Origin, Provenance
from sessions_app.domain.wire.models import ModelFacts, model_facts
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Tag, Violation

type Pointer = tuple[str | int, ...]


@dataclass(slots=True)
class Request:
    """A body that is to be judged for a target. ``soft`` names rules that this server is not known to enforce:
    warnings."""

    body: dict[str, Any]
    target: Target
    provenance: Provenance
    table: Mapping[str, WireRule]
    soft: frozenset[str] = frozenset()
    traits: Traits | None = None
    """Those of the history behind the body, None where they are not known: they spare checks that find nothing."""
    model: ModelFacts = field(default_factory=ModelFacts)

    def __post_init__(self) -> None:
        self.model = model_facts(self.target.model)

    def list_of(self, key: str) -> list[dict[str, Any]]:
        """The objects under a key of the body; anything else there counts as an empty object, so that indexes stay
        right."""
        return objects(self.body.get(key))

    def origin(self, pointer: Pointer) -> Origin:
        """The stored message and part that the nearest enclosing listed position came from."""
        for length in range(len(pointer), 0, -1):
            found = self.provenance.get(pointer[:length])
            if found is not None:
                return found
        return NOBODY

    def broken(
        self,
        code: str,
        position: str,
        pointer: Pointer,
        say: str = "",
        *,
        doubtful: bool = False,
        tag: Tag | None = None,
        faults: tuple[str, ...] | None = None,
        **fields: object,
    ) -> Violation:
        """The rule is broken at ``pointer``; its text named ``say`` in the table is filled with ``position`` and
        ``fields``. ``doubtful`` makes it a warning (certainty "uncertain"), as do a soft rule of this server and a
        request rule on a model that is not in the table. ``tag`` and ``faults`` are those of the table unless the check
        knows better."""
        rule = self.table[code]
        words = rule.saying(say)
        tag = tag or rule.tag
        doubtful = doubtful or code in self.soft or (tag == "R" and not self.model.known)
        origin = self.origin(pointer)
        return Violation(
            rule=code,
            error=words.texts[say].format(position=position, **fields),
            position=position,
            pointer=pointer,
            message=origin.message,
            part=origin.part,
            certainty="uncertain" if doubtful else rule.certainty,
            tag=tag,
            faults=words.faults if faults is None else faults,
        )


def run(request: Request, view: object, checks: tuple[Check, ...]) -> list[Violation]:
    """All broken rules, in the order the provider would look: the first is the one it most likely answers with.

    ``view`` is the body as the protocol's checks want to read it, made once for all of them.
    """
    return in_order(request, (one for check in applicable(checks, request.traits) for one in check(view)))


def in_order(request: Request, violations: Iterable[Violation]) -> list[Violation]:
    """Violations of one request in the order the provider would look."""
    found = list(violations)
    found.sort(key=lambda violation: (violation.certainty == "uncertain", request.table[violation.rule].rank))
    return found


def objects(value: Any) -> list[dict[str, Any]]:
    """A JSON array as objects, {} for members that are none; [] for what is no array. Nobody changes what it gives: it
    may be the array itself."""
    if not isinstance(value, list):
        return []
    if {dict}.issuperset(map(type, value)):
        return value
    return [member if isinstance(member, dict) else {} for member in value]


def text_of(value: Any) -> str:
    """The value when it is text, else ""."""
    return value if isinstance(value, str) else ""


def lone_surrogates(value: Any, pointer: Pointer = ()) -> Iterator[Pointer]:
    """Where strings (or keys) hold half a surrogate pair, which no provider's JSON reader takes (A31). Linear, no
    recursion."""
    stack: list[tuple[Any, Pointer]] = [(value, pointer)]
    while stack:
        item, at = stack.pop()
        if isinstance(item, str):
            if halved(item):
                yield at
        elif isinstance(item, dict):
            if any(halved(key) for key in item):
                yield at
            stack.extend((member, (*at, key)) for key, member in item.items() if isinstance(member, (str, dict, list)))
        elif isinstance(item, list):
            stack.extend(
                (member, (*at, index)) for index, member in enumerate(item) if isinstance(member, (str, dict, list))
            )


def survey(value: Any) -> tuple[int, bool]:
    """Bytes that a JSON value takes as compact JSON, and whether any string in it holds half a surrogate pair."""
    try:
        return _size(value, 2), False
    except (ValueError, OverflowError, RecursionError):
        pass
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    except RecursionError:
        return 0, next(lone_surrogates(value), None) is not None
    try:
        return len(text.encode()), False
    except UnicodeEncodeError:
        return len(text), True


def _size(value: Any, levels: int) -> int:
    """Bytes of compact JSON, told piece by piece down to ``levels``, so that a body is never there a second time."""
    if levels and type(value) is dict and value:
        return 1 + sum(len(jsjson.encoded(key)) + 2 + _size(item, levels - 1) for key, item in value.items())
    if levels and type(value) is list and value:
        return 1 + sum(1 + _size(item, levels - 1) for item in value)
    return len(jsjson.encoded(value))


def half_characters(request: Request) -> Iterator[Violation]:
    """A31 at every place where a string holds half a surrogate pair."""
    for pointer in lone_surrogates(request.body):
        yield request.broken("A31", ".".join(map(str, pointer[:4])), pointer)


class Judged(Protocol):
    """A body as its protocol's checks read it."""

    @property
    def request(self) -> Request:
        """The request under judgement."""
        ...


@needs("halves")
def broken_text(view: Judged) -> Iterator[Violation]:
    """A31: half surrogate pairs make the body no JSON. Inside ``arguments`` they are escaped once more and do no harm
    (docs/contract/wire.md#c5)."""
    if survey(view.request.body)[1]:
        yield from half_characters(view.request)
