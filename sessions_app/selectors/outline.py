"""The shape of a session without its contents: turns, faults and where they are.

Made from derived columns only, so that a session of 20,000 parts costs three queries and no JSON but its users' words.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter

from django.db.models import Q
from django.db.models.functions import Now, TruncDate

from sessions_app.domain.dialects import named
from sessions_app.domain.dialects.opencode_v2.inputs import waiting_prompts
from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowcodec import row_from_text
from sessions_app.kept import Kept
from sessions_app.models import Finding, IgnoredFinding, Message, Part, Session
from sessions_app.ruletexts import rule_kind
from sessions_app.stores.base import fingerprint

from .keeping import SessionKey, kept_of, session_key
from .titles import TITLE_CHARACTERS, turn_titles

KEPT_PARTS = 400_000
"""Parts of all outlines that a process keeps."""


RANK = {"blocked": 0, "at-risk": 1, "info": 2}
"""Severities, the gravest first."""


@dataclass(frozen=True, slots=True)
class Head:
    """A message without its contents. ``first`` is the index of its first part in the session."""

    id: int
    stored_id: str
    kind: str
    time: int | None
    first: int
    parts: int


@dataclass(frozen=True, slots=True)
class Ignored:
    """Why, by whom and until when a finding is left as it is."""

    reason: str
    actor: str
    until: dt.date | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding with its place. ``at`` is the part, else the message, to show.

    ``number`` counts from 1: what blocks, what puts at risk, what is only for information; of the first two what is
    repaired safely comes first, then stored order counts.
    """

    number: int
    id: int
    key: str
    rule: str
    severity: str
    safety: str
    summary: str
    parts: tuple[str, ...]
    messages: tuple[str, ...]
    at: str
    position: int
    """Index of the part in the session, for the rail."""
    turn: int
    ignored: Ignored | None = None
    said: str = ""
    """The provider's words, where the session itself stores them as its refusal."""
    line: str = ""
    """What is wrong, in one line."""
    place: str = ""
    """Where, in words; "" = at no message or part."""
    names: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Stored id -> place, of what stands in ``summary``."""

    @property
    def note(self) -> bool:
        """It is only for information."""
        return self.severity == "info"


@dataclass(frozen=True, slots=True)
class TurnHead:
    """A user message with everything that answers it; ``number`` counts from 1."""

    number: int
    title: str
    messages: tuple[Head, ...]
    first: int
    parts: int
    """Places it takes in the session's order: a message without parts takes one."""
    stored: int
    """Parts it has."""
    calls: int
    time: int | None
    faults: int = 0
    notes: int = 0
    worst: str = ""

    @property
    def ended(self) -> int | None:
        return self.messages[-1].time


@dataclass(frozen=True, slots=True)
class Twin:
    """One of several tool parts that share a call id. ``letter`` names the group, ``number`` of ``total`` the copy."""

    letter: str
    number: int
    total: int
    call_id: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prompt that was admitted and never sent. ``queued``: it gets a turn of its own behind the next prompt."""

    stored_id: str
    text: str
    queued: bool
    time: int


@dataclass(frozen=True, slots=True)
class Outline:
    """``table`` is the history shown; ``other`` counts the messages of the session's other history."""

    table: str
    turns: tuple[TurnHead, ...]
    faults: tuple[Fault, ...]
    twins: dict[str, Twin]
    parts: int
    other: int
    orphans: tuple[str, ...]
    """Stored ids of parts whose message is not in the session."""
    waiting: tuple[Waiting, ...]
    """Prompts that the next request holds before or behind the new one, in the order of their admission."""

    places: dict[str, tuple[int, int]]
    """Message or part id -> (turn number, index of the part in the session)."""
    state: str
    """Tells this outline from every other of its session, before and after a write."""

    @property
    def serious(self) -> tuple[Fault, ...]:
        """Faults that block or put at risk."""
        return tuple(fault for fault in self.faults if not fault.note)

    @property
    def notes(self) -> tuple[Fault, ...]:
        """Findings for information."""
        return tuple(fault for fault in self.faults if fault.note)

    @property
    def other_table(self) -> str:
        """The session's other history."""
        return "session_message" if self.table == "message" else "message"

    @property
    def messages(self) -> int:
        return sum(len(turn.messages) for turn in self.turns)

    @property
    def stored(self) -> int:
        """Parts of this history."""
        return sum(turn.stored for turn in self.turns)


@dataclass(slots=True)
class _Slim:
    """A part's derived columns."""

    stored_id: str
    item: int | None
    kind: str
    call_id: str


_KEPT: Kept[SessionKey, Outline] = Kept(KEPT_PARTS, lambda outline: outline.parts)


def session_outline(session: Session, table: str = "") -> Outline:
    """The turns, faults and twins of one history of a session ("" = the one its dialect uses). Kept for the next page
    of the same session."""
    shown = table if table in Message.Table.values else named(session.dialect).filed
    ignored = ignored_findings(session.pk)
    options = (shown, tuple(sorted(ignored.items(), key=itemgetter(0))))
    return kept_of(_KEPT, session, options, lambda: _outline(session, shown, ignored))


def _outline(session: Session, shown: str, ignored: dict[str, Ignored]) -> Outline:
    stored = list(
        Message.objects.filter(session=session)
        .order_by("position")
        .values_list("table", "id", "stored_id", "kind", "time_created")
    )
    mine = [row for row in stored if row[0] == shown]
    slim, orphans = _slim_parts(session, {row[2] for row in stored})
    heads, first = [], 0
    for _, pk, stored_id, kind, time in mine:
        count = len(slim.get(stored_id, ())) or 1
        heads.append(Head(pk, stored_id, kind, time, first, count))
        first += count
    turns = tuple(
        _turns(heads, slim, turn_titles(session, shown, [head.stored_id for head in heads if head.kind == "user"]))
    )
    waiting = tuple(_waiting(session, stored)) if session.inputs else ()
    places = _places(turns, slim)
    if turns:  # they are shown behind the last turn
        places |= {prompt.stored_id: (turns[-1].number, first - 1) for prompt in waiting}
    faults = tuple(_faults(session, places, ignored))
    return Outline(
        table=shown,
        turns=_with_faults(turns, faults),
        faults=faults,
        twins=_twins(heads, slim, faults),
        parts=first,
        other=len(stored) - len(mine),
        orphans=tuple(orphans),
        waiting=waiting,
        places=places,
        state=fingerprint(session_key(session), shown, sorted(ignored.items(), key=itemgetter(0))),
    )


def _waiting(session: Session, stored: Iterable[tuple[str, int, str, str, int | None]]) -> Iterator[Waiting]:
    rows = SessionRows(
        session.stored_row,
        session_message=[{"id": stored_id} for table, _, stored_id, _, _ in stored if table == "session_message"],
        inputs=[row_from_text(text) for text in session.inputs],
    )
    for message in waiting_prompts(rows):
        text = str(message.data.get("text") or "")[:TITLE_CHARACTERS]
        yield Waiting(message.id, text, message.data.get("delivery") == "queue", message.time_created)


def _slim_parts(session: Session, messages: set[str]) -> tuple[dict[str, list[_Slim]], list[str]]:
    """Parts by message in stored order, and the ids of those without a message."""
    found: defaultdict[str, list[_Slim]] = defaultdict(list)
    columns = ("message_stored_id", "stored_id", "item", "kind", "call_id")
    for message, *rest in (
        Part.objects.filter(session=session).order_by("position").values_list(*columns).iterator(chunk_size=5000)
    ):
        found[message].append(_Slim(*rest))
    orphans: list[str] = []
    for message, parts in found.items():
        if message not in messages:
            orphans += [part.stored_id for part in parts]
    return found, sorted(orphans)


def _turns(heads: list[Head], slim: dict[str, list[_Slim]], titles: dict[str, str]) -> Iterator[TurnHead]:
    groups: list[list[Head]] = []
    for head in heads:
        if not groups or (head.kind == "user" and head.stored_id in titles):
            groups.append([])
        groups[-1].append(head)
    for number, group in enumerate(groups, 1):
        lead = group[0]
        kinds = Counter(part.kind for head in group for part in slim.get(head.stored_id, ()))
        title = titles.get(lead.stored_id) or ("(begins without a user's words)" if number == 1 else "")
        yield TurnHead(
            number=number,
            title=title,
            messages=tuple(group),
            first=lead.first,
            parts=sum(head.parts for head in group),
            stored=kinds.total(),
            calls=kinds["tool"],
            time=lead.time,
        )


def _places(turns: Iterable[TurnHead], slim: dict[str, list[_Slim]]) -> dict[str, tuple[int, int]]:
    places: dict[str, tuple[int, int]] = {}
    for turn in turns:
        for head in turn.messages:
            places[head.stored_id] = (turn.number, head.first)
            for index, part in enumerate(slim.get(head.stored_id, ())):
                places[part.stored_id] = (turn.number, head.first + index)
    return places


def ignored_findings(session_id: int) -> dict[str, Ignored]:
    """Keys of the session's findings that are ignored today."""
    today = Q(until=None) | Q(until__gte=TruncDate(Now()))
    rows = IgnoredFinding.objects.filter(today, session=session_id)
    return {row.key: Ignored(row.reason, row.actor, row.until) for row in rows}


def _faults(session: Session, places: dict[str, tuple[int, int]], ignored: dict[str, Ignored]) -> Iterator[Fault]:
    """The gravest first, of these what is repaired safely, then in stored order; what is at no known place (a session's
    pointer, an orphan) last."""
    placed: list[tuple[int, Finding, str]] = []
    for finding in Finding.objects.filter(session=session).order_by("position", "id"):
        parts = [stored for stored in finding.parts if stored in places]
        known = parts or [stored for stored in finding.messages if stored in places]
        at = min(known, key=lambda stored: places[stored][1]) if known else ""
        placed.append((places[at][1] if at else -1, finding, at))
    placed.sort(key=_order)
    for number, (position, finding, at) in enumerate(placed, 1):
        yield Fault(
            number=number,
            id=finding.pk,
            key=finding.key,
            rule=finding.rule,
            severity=finding.severity,
            safety=finding.safety,
            summary=finding.summary,
            parts=tuple(finding.parts),
            messages=tuple(finding.messages),
            at=at,
            position=max(position, 0),
            turn=places[at][0] if at else 0,
            ignored=ignored.get(finding.key),
            said=_said(finding),
            line=finding.line or rule_kind(finding.rule),
            place=finding.place,
            names=finding.names,
        )


def _order(placed: tuple[int, Finding, str]) -> tuple[int, bool, bool, int, int, int]:
    position, finding, at = placed
    later = finding.severity != "info" and finding.safety != "safe"
    return RANK[finding.severity], later, not at, position, finding.position, finding.pk


def _said(finding: Finding) -> str:
    told = finding.details
    refused = told.get("certainty") == "recorded" and told.get("class", "history") in ("history", "generic")
    return str(told.get("words") or told.get("error", "")) if refused and finding.severity != "info" else ""


def _with_faults(turns: tuple[TurnHead, ...], faults: tuple[Fault, ...]) -> tuple[TurnHead, ...]:
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for fault in faults:
        counts[fault.turn][fault.severity] += 1

    def counted(turn: TurnHead) -> TurnHead:
        mine = counts[turn.number]
        worst = next((name for name in ("blocked", "at-risk") if mine[name]), "")
        return replace(turn, faults=mine["blocked"] + mine["at-risk"], notes=mine["info"], worst=worst)

    return tuple(counted(turn) for turn in turns)


def _twins(heads: list[Head], slim: dict[str, list[_Slim]], faults: tuple[Fault, ...]) -> dict[str, Twin]:
    """Tool parts that share a call id: inside one message always, across messages where a finding says so."""
    named = {part for fault in faults if fault.rule.startswith("duplicate-call-id") for part in fault.parts}
    calls: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for head in heads:
        for part in slim.get(head.stored_id, ()):
            if part.kind == "tool" and part.call_id:
                calls[part.call_id].append((head.stored_id, part.stored_id))
    found: dict[str, Twin] = {}
    letter = 0
    for call_id, group in calls.items():
        together = len({message for message, _ in group}) < len(group)
        if len(group) < 2 or not (together or any(part in named for _, part in group)):
            continue
        name = _letters(letter)
        letter += 1
        for number, (_, mine) in enumerate(group, 1):
            others = tuple(other for _, other in group if other != mine)
            found[mine] = Twin(name, number, len(group), call_id, others)
    return found


def _letters(index: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA."""
    name = ""
    index += 1
    while index:
        index, left = divmod(index - 1, 26)
        name = chr(65 + left) + name
    return name
