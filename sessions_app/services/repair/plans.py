"""Plans and what they would change, kept between two looks: by what they were made from, and by what was wished."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from sessions_app.domain.planning import Proposal
from sessions_app.domain.previewing import Preview
from sessions_app.domain.rowcodec import row_from_text
from sessions_app.domain.rules import Finding
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.domain.wish import Wish
from sessions_app.kept import Kept
from sessions_app.services.storefacts import directories_named

if TYPE_CHECKING:
    from sessions_app.models import Session
    from sessions_app.stores.base import Store

HOUR: Final = 3_600_000
"""Milliseconds for which a plan is kept at most: of time, rules ask for no more."""
_SMALL: Final = 1_000
"""Bytes that a finding, an operation or a violation takes, about."""


class Keyed(Protocol):
    """What ``kept_property`` works on: a bench."""

    key: Hashable

    @property
    def held(self) -> bool: ...


def plan_key(*, session: Session, store: Store, hashed: str, wish: Wish, now: datetime) -> Hashable:
    """All that a plan for rows with this hash depends on, None where that cannot be told: the wish, the rules, the
    state of the store's files, what its client's configuration and its machine say."""
    from sessions_app.services.reading import reading_state
    from sessions_app.services.rulesversion import rules_version

    source = session.source
    state = reading_state(store, hashed)
    if not state or wish.target or wish.operations is not None or store.kind == "storage":
        return None  # another model's configuration, or a database beside the tree, would have to be looked at too
    projects = [row_from_text(row) for row in source.projects.values_list("row", flat=True)] if source.native else []
    machine = [source.native, sorted(directories_named(session.stored_row, projects).items()) if source.native else []]
    known = [session.known_models, list(source.damage), int(now.timestamp() * 1000) // HOUR]
    return session.pk, state, rules_version(), json.dumps([wish.to_json(), machine, known], default=str)


def size(value: object) -> int:
    """About how many bytes a kept value takes."""
    match value:
        case Proposal():
            rows = (row for change in value.plan.changes for row in (change.before, change.after) if row is not None)
            stored = sum(len(text) for row in rows for text in row.values() if isinstance(text, (str, bytes)))
            return stored + _SMALL * len(value.plan.operations) + size(value.found)
        case Preview():
            return size((value.verdict_before, value.verdict_after)) + size(value.findings_after)
        case Finding():
            return _SMALL * (1 + len(value.parts))
        case Verdict():
            return _SMALL * (1 + len(value.violations) + len(value.warnings))
        case Mapping():
            return size(tuple(value.values()))
        case tuple():
            return sum(map(size, value))
    return _SMALL


PLANS: Final[Kept[Hashable, Any]] = Kept(64_000_000, size)


class kept_property[T]:
    """As ``cached_property``, for what a bench makes that is small: kept for the next bench of the same key too."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, bench: Keyed, owner: type) -> T:
        made: T = kept_made(bench, self._name, lambda: self._make(bench))
        bench.__dict__[self._name] = made
        return made


def kept_made[T](bench: Keyed, name: str, make: Callable[[], T]) -> T:
    """What ``make`` gives for this bench, small and named ``name``, kept for the next bench of the same key."""
    made: T = make() if bench.key is None else PLANS.made((bench.key, bench.held, name), make)
    return made
