"""The shape of a session without its contents: turns, faults and where they are.

Made from derived columns only, so that a session of 20,000 parts costs three queries and no JSON but its users' words.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now, Substr, TruncDate

from sessions_app.domain.dialects import named
from sessions_app.domain.dialects.opencode_v2.inputs import waiting_prompts
from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowcodec import decode_value, row_from_text
from sessions_app.models import Finding, IgnoredFinding, Message, Part, Session

TITLE_CHARACTERS = 4_000
"""How much of a user's text is read for the turn's title."""


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

    ``number`` counts from 1: what blocks or puts at risk in stored order, then what is only for information.
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


def session_outline(session: Session, table: str = "") -> Outline:
    """The turns, faults and twins of one history of a session ("" = the one its dialect uses)."""
    shown = table if table in Message.Table.values else named(session.dialect).filed
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
    turns = tuple(_turns(heads, slim, _titles(session, shown, heads)))
    waiting = tuple(_waiting(session, stored)) if session.inputs else ()
    places = _places(turns, slim)
    if turns:  # they are shown behind the last turn
        places |= {prompt.stored_id: (turns[-1].number, first - 1) for prompt in waiting}
    faults = tuple(_faults(session, places))
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


def _titles(session: Session, table: str, heads: list[Head]) -> dict[str, str]:
    """Stored id of a user message that begins a turn -> its first words. What is only synthetic begins none."""
    users = {head.id: head.stored_id for head in heads if head.kind == "user"}
    if table == Message.Table.SESSION_MESSAGE:
        rows: QuerySet[Message, tuple[Any, ...]] = (
            Message.objects.filter(session=session, table=table, kind="user")
            .order_by("position")
            .values_list("stored_id", "encoding", Substr("data", 1, TITLE_CHARACTERS))
        )
        return {stored_id: _words(text, encoding) for stored_id, encoding, text in rows}
    titles: dict[str, str] = {}
    parts = (
        Part.objects.filter(message__session=session, message__table=table, message__kind="user")
        .order_by("position")
        .values_list("message_stored_id", "kind", "encoding", Substr("data", 1, TITLE_CHARACTERS))
    )
    with_parts: set[str] = set()
    for message, kind, encoding, text in parts:
        with_parts.add(message)
        if kind == "text" and '"synthetic":true' not in text.replace(" ", ""):
            titles.setdefault(message, _words(text, encoding))
        elif kind in ("file", "subtask", "agent"):
            titles.setdefault(message, f"({kind})")
    for stored_id in users.values():
        if stored_id not in with_parts:
            titles[stored_id] = "(no parts)"
    return titles


def _words(text: str, encoding: str) -> str:
    """The text member of stored JSON, which may have been cut short."""
    try:
        if encoding == "json":
            text = decode_value(text, encoding)
        value = json.loads(text)
        words = value.get("text") if isinstance(value, dict) else None
    except ValueError:
        words = _cut_text(text)
    line = " ".join(str(words or "").split())
    return line[:160] or "(empty)"


def _cut_text(text: str) -> str:
    """The text member of JSON that ends in the middle."""
    _, found, rest = text.partition('"text":')
    if not found:
        return ""
    rest = rest.lstrip()[1:400].rsplit("\\", 1)[0]
    try:
        return str(json.loads(f'"{rest.split(chr(34), 1)[0]}"', strict=False))
    except ValueError:
        return rest


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


def _faults(session: Session, places: dict[str, tuple[int, int]]) -> Iterator[Fault]:
    """The findings in stored order; what is at no known place (a session's pointer, an orphan) comes first."""
    placed: list[tuple[int, Finding, str]] = []
    ignored = ignored_findings(session.pk)
    for finding in Finding.objects.filter(session=session).order_by("position", "id"):
        parts = [stored for stored in finding.parts if stored in places]
        known = parts or [stored for stored in finding.messages if stored in places]
        at = min(known, key=lambda stored: places[stored][1]) if known else ""
        placed.append((places[at][1] if at else -1, finding, at))
    placed.sort(key=lambda item: (item[1].severity == "info", item[0], item[1].position, item[1].pk))
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
        )


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
