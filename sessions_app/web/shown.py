"""What a session's page shows around a place: the window of its turns, and what goes with the fault that is shown.

The page, each step from fault to fault, and the turns that are added above and below are made of the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.template.defaultfilters import pluralize
from django.urls import reverse

from sessions_app.models import Session, Verdict
from sessions_app.selectors.sessions import SessionRow, sessions_by_stored_id
from sessions_app.selectors.timeline import Fault, MessageBlock, Outline, PartRow, TurnBlock, TurnHead, Window

from .addresses import address
from .findingcards import FindingCard, finding_cards
from .partcards import PartCard, part_card
from .partnames import twin_links, window_names
from .rail import Band, Rail, fault_rail, rail_window
from .turnindex import LISTED, listed_turns

type Turn = tuple[TurnBlock, list[tuple[MessageBlock, list[PartCard]]]]
"""A turn with its messages, each with the cards of its parts."""


@dataclass(frozen=True, slots=True)
class Loader:
    """The link to the turns above or below those shown; htmx puts them in its place."""

    name: str
    key: str
    count: int
    url: str
    fetch: str
    trigger: str

    @property
    def keeps(self) -> bool:
        """What is looked at stays where it is."""
        return self.name == "earlier"

    @property
    def words(self) -> str:
        return f"Load {self.name} turns ({self.count:,} part{pluralize(self.count)} more)"


@dataclass(frozen=True, slots=True)
class OnPage:
    """The parts with index ``start`` to ``end`` (exclusive) of ``of`` are on the page, ``rail`` on the strip."""

    start: int
    end: int
    of: int
    rail: Band

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end >= self.of

    @property
    def seen(self) -> str:
        """As the address of what is added says it."""
        return f"{self.start}-{self.end}"


def on_page(outline: Outline, window: Window, seen: str = "") -> OnPage:
    """A window, with what was there before it was added (``seen``)."""
    before = [int(end) for end in seen.split("-") if end.isascii() and end.isdigit()][:2]
    start, end = min([window.start, *before[:1]]), max([window.end, *before[1:]])
    return OnPage(start, end, window.of, rail_window(outline, start, end))


def _loaders(
    session: Session, window: Window, table: str, listed: str, page: OnPage
) -> tuple[Loader | None, Loader | None]:
    """Of what is above, and of what is below."""
    stored = reverse("sessions_app:session", args=[session.pk])

    def loader(name: str, key: str, count: int, bound: dict[str, Any], trigger: str) -> Loader:
        there = {**bound, "history": table, "list": listed}
        return Loader(name, key, count, address(there), stored + address({**there, "seen": page.seen}), trigger)

    earlier = loader("earlier", "[", window.earlier, {"to": window.start}, "click")
    later = loader("later", "]", window.later, {"from": window.end}, "click, intersect once")
    return earlier if window.start else None, later if window.later else None


@dataclass(frozen=True, slots=True)
class Steps:
    """Where the stepper goes from ``fault``. It steps through what is serious, or through the notes where a note is
    shown."""

    fault: Fault | None
    total: int
    number: int
    previous: Fault | None
    next: Fault | None


@dataclass(frozen=True, slots=True)
class Shown:
    """``at`` is the part or message that is looked at, "" = none; ``agents`` are the sessions that sub-agents in the
    window worked in; ``names`` are what its messages and parts are called; ``listed`` are the turns that the index
    names."""

    outline: Outline
    window: Window
    page: OnPage
    turns: Sequence[Turn]
    agents: Mapping[str, SessionRow]
    names: Mapping[str, str]
    earlier: Loader | None
    later: Loader | None
    at: str = ""
    fault: Fault | None = None
    card: FindingCard | None = None
    steps: Steps | None = None
    rail: Rail | None = None
    listed: Sequence[TurnHead] = ()

    @property
    def start(self) -> int:
        """The index of the first part."""
        return self.window.start

    @property
    def single(self) -> bool:
        """One turn needs no index and no rail."""
        return len(self.outline.turns) == 1

    @property
    def css(self) -> str:
        return "timeline-single" if self.single else "" if self.outline.faults else "timeline-calm"


def shown_window(
    session: Session, outline: Outline, window: Window, table: str, listed: str = "", seen: str = ""
) -> Shown:
    """The turns of a window alone. ``table``: the history that was asked for, ``listed``: the query of the list,
    ``seen``: what is on the page already."""
    names = window_names(session, window)
    rows = {row.stored_id: row for turn in window.turns for message in turn.messages for row in message.parts}

    def card(row: PartRow, role: str) -> PartCard:
        return part_card(row, role, names.get(row.stored_id, ""), twin_links(session, row, rows))

    turns = [
        (turn, [(message, [card(row, message.kind) for row in message.parts]) for message in turn.messages])
        for turn in window.turns
    ]
    named = {card.child for _, messages in turns for _, parts in messages for card in parts if card.child}
    agents = sessions_by_stored_id(session.source_id, named)
    page = on_page(outline, window, seen)
    return Shown(outline, window, page, turns, agents, names, *_loaders(session, window, table, listed, page))


def shown_fault(shown: Shown, fault: Fault | None, at: str, verdicts: Sequence[Verdict], most: int = LISTED) -> Shown:
    """With what goes with the fault; ``most``: turns that the index names."""
    outline = shown.outline
    return replace(
        shown,
        at=at,
        fault=fault,
        card=finding_cards([fault], verdicts, outline.faults)[0] if fault else None,
        steps=_steps(outline, fault),
        rail=fault_rail(outline, shown.window),
        listed=listed_turns(outline.turns, shown.start, most),
    )


def _steps(outline: Outline, fault: Fault | None) -> Steps:
    group = outline.notes if fault is not None and fault.note else outline.serious
    at = group.index(fault) if fault is not None else -1
    return Steps(
        fault=fault,
        total=len(group),
        number=at + 1,
        previous=group[at - 1] if at > 0 else None,
        next=group[at + 1] if at + 1 < len(group) else None,
    )
