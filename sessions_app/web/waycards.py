"""What can be done about one finding here: each way with a short difference and how the session would stand then."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sessions_app.domain.model import Row
from sessions_app.domain.places import Places, in_words, near
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rules import Finding
from sessions_app.kept import Kept
from sessions_app.models import Session
from sessions_app.services.repair.bench import Bench, session_bench
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.ways import Way, asked_alone, found_alone, preselected, ways

from . import present
from .text import masked, plain, summary_line

LINES = 3
"""Changed lines of a short difference."""
_WIDE = 110
_LOOKED_AT = 4_000
"""Characters of a value that are looked at: more than any key has."""
_GIST = ("role", "type", "tool", "state.status", "text", "state.output", "state.error", "filename")
"""What tells a row, first what it is, then what it says."""
GONE = "It is not found in this session any more. Scan it again."


@dataclass(frozen=True, slots=True)
class Line:
    """``sign``: "-", "+", or "" for the place that the lines below it are at; ``at`` is that place's id."""

    sign: str
    text: str
    at: str = ""

    @property
    def css(self) -> str:
        return {"-": "removed", "+": "added"}.get(self.sign, "at-place")

    @property
    def goes(self) -> bool:
        return self.sign == "-"


@dataclass(frozen=True, slots=True)
class WayCard:
    """``more``: rows that change beside those of ``lines``. ``answer`` and ``left`` say how the session would stand."""

    name: str
    label: str
    safety: present.Look
    lines: tuple[Line, ...]
    more: int
    look: present.Look
    answer: str
    left: str
    recommended: bool

    @property
    def size(self) -> int:
        return 1_000 + sum(200 + len(line.text) for line in self.lines)


@dataclass(frozen=True, slots=True)
class WayBox:
    """``hash``: of the rows it is for. ``refusal``: why nothing can be done now; ``warning``: who has the file open."""

    key: str
    hash: str = ""
    ways: tuple[WayCard, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Stored id -> place, of what stands in the labels."""
    refusal: str = ""
    warning: str = ""

    @property
    def field(self) -> str:
        return f"choice.{self.key}"

    @property
    def stated(self) -> bool:
        """There is nothing to choose."""
        return len(self.ways) == 1 and self.ways[0].recommended

    @property
    def legend(self) -> str:
        if self.stated:
            return "Repair"
        return "Choose a repair" if self.ways else "Nothing can be changed for it here"


type _Made = tuple[tuple[WayCard, ...], Mapping[str, str], str]
"""The ways, the places that their labels name, and why nothing is done now."""

_KEPT: Kept[Hashable, _Made] = Kept(8_000_000, lambda made: sum(way.size for way in made[0]))


def way_box(session: Session, key: str, now: datetime) -> WayBox:
    """What can be done about the finding ``key``; what stands against it is said in ``refusal``."""
    try:
        with session_bench(session=session, wish=asked_alone(key), now=now) as bench:
            if found_alone(bench, key) is None:
                return WayBox(key, refusal=GONE)
            if bench.key is None:
                made = _made(bench, key)
            else:
                made = _KEPT.made((bench.key, bench.held), lambda: _made(bench, key))
            return WayBox(key, bench.plan.rows_hash, *made, warning=bench.warning)
    except RepairRefused as refusal:
        return WayBox(key, refusal=refusal.words)


def _made(bench: Bench, key: str) -> _Made:
    finding = found_alone(bench, key)
    found = tuple(ways(bench, finding)) if finding else ()
    best = preselected(finding) if finding else ""
    places = Places(bench.decoded)
    refusal = next((way.refusal for way in found if way.refusal), "")
    at = next((str(place) for stored in _ids(finding) if (place := places.of(stored))), "")
    names = near(places.named_in(*(way.choice.label for way in found)), at)
    return tuple(_card(way, places, way.choice.name == best) for way in found), names, refusal


def _ids(finding: Finding | None) -> tuple[str, ...]:
    return (*finding.parts, *finding.messages) if finding else ()


def _card(way: Way, places: Places, recommended: bool) -> WayCard:
    lines, rows = _short(way.changes, places)
    look, answer = _answer(way)
    left = f"{present.counted(way.left, 'fault')} left." if way.left else "No fault left."
    safety = present.look("safety", way.choice.safety)
    if way.choice.safety == "lossy":
        safety = safety._replace(word="drops something")
    more = len(way.changes) - rows
    return WayCard(way.choice.name, way.choice.label, safety, lines, more, look, answer, left, recommended)


def _answer(way: Way) -> tuple[present.Look, str]:
    name = present.PROVIDER.get(way.protocol, way.protocol)
    if name and not way.accepted:
        return present.HEALTH["blocked"], f"After this {name} still refuses the next message."
    if not way.checked:
        return present.SEVERITY["info"], "After this nothing that can be checked here stands against the next message."
    if way.blocking:
        return present.HEALTH["blocked"], "After this it is still blocked."
    return present.HEALTH["healthy"], f"After this {name} accepts the next message." if name else ""


def _short(changes: Iterable[RowChange], places: Places) -> tuple[tuple[Line, ...], int]:
    """The first changed lines, each row's under its place, and how many rows they are of."""
    shown: list[Line] = []
    left, rows = LINES, 0
    for change in changes:
        if not left:
            break
        stored_id = str(change.key.get("id", ""))
        place = places.of(stored_id)
        mine = [Line(sign, _said(text, places)) for sign, text in _changed(change)][:left]
        shown += [Line("", str(place) if place else _table(change.table), stored_id if place else ""), *mine]
        left -= len(mine)
        rows += 1
    return tuple(shown), rows


def _table(name: str) -> str:
    return "the session’s row" if name == "session" else f"a row of {name}"


def _said(text: str, places: Places) -> str:
    """On one line, with places for ids; keys are masked before anything is cut."""
    line = summary_line(masked(plain(text[:_LOOKED_AT])), _WIDE)
    return "".join(word.text for word in in_words(line, places.named_in(line)))


def _changed(change: RowChange) -> Iterator[tuple[str, str]]:
    """What goes ("-") and what comes ("+"), value by value where the row stays what it is."""
    before, after = _leaves(change.before), _leaves(change.after)
    if not before or not after or before.get("type") != after.get("type"):
        yield from [("-", _gist(before))] if before else []
        yield from [("+", _gist(after))] if after else []
        return
    for path in dict.fromkeys((*before, *after)):
        if path != "time_updated" and before.get(path) != after.get(path):
            yield from [("-", f"{path}  {before[path]}")] if path in before else []
            yield from [("+", f"{path}  {after[path]}")] if path in after else []


def _leaves(row: Row | None) -> dict[str, str]:
    """A row as "state.status" -> value; its JSON opened."""
    return dict(_walk("", row)) if row else {}


def _walk(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if path == "data" and isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            path, value = "", json.loads(value)
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _walk(f"{path}.{name}".strip("."), inner)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        yield path or "data", text


def _gist(leaves: Mapping[str, str]) -> str:
    return "  ".join(leaves[name] for name in _GIST if leaves.get(name)) or "row"
