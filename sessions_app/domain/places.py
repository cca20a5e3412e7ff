"""Places in a conversation, in words: "bash call 2, turn 7" instead of a stored id."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .model import Message, Part, Session, TextPart, ToolPart
from .repair import Operation
from .rules.finding import Finding

LONGEST_TOOL = 24
"""Characters of a tool's name in a place."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_#-]{3,}")
_CALL = re.compile(r"(?:call|toolu|tooluse|fc|chatcmpl-tool)[_-][A-Za-z0-9_-]{14,}\Z")
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_KINDS = {"reasoning": "thinking", "step-finish": "step end"}


@dataclass(frozen=True, slots=True)
class Place:
    """``name`` tells it apart inside its turn ("bash call 2"); ``turn`` counts from 1, 0 for what is in none."""

    name: str
    turn: int

    def __str__(self) -> str:
        return f"{self.name}, turn {self.turn}" if self.turn else self.name


class Places:
    """The places of a session's messages and parts, of the history that its client uses first.

    Names are worked out turn by turn as they are asked for: a long session with one fault costs one turn.
    """

    def __init__(self, session: Session) -> None:
        self._outside = {part.id: Place(_name(part), 0) for part in session.orphans}
        self._turn_of: dict[str, tuple[int, Sequence[Message]]] = {}
        self._named: dict[str, Place] = {}
        self._tools: dict[str, str] = {}
        used_first = sorted(session.histories.items(), key=lambda item: item[0] != session.dialect)
        for _, messages in reversed(used_first):
            for number, turn in enumerate(conversation(messages), 1):
                for message in turn:
                    self._turn_of[message.id] = (number, turn)
                    self._turn_of.update((part.id, (number, turn)) for part in message.parts)
                    self._tools.update((tool.id, tool.tool) for tool in message.tools())

    def of(self, stored_id: str) -> Place | None:
        """The place of a message or part; None where the session does not hold it."""
        if stored_id not in self._named and stored_id in self._turn_of:
            number, turn = self._turn_of[stored_id]
            self._named.update(_names(turn, number))
        return self._named.get(stored_id) or self._outside.get(stored_id)

    def named_in(self, *texts: str) -> dict[str, str]:
        """The place of every stored id that stands in the texts."""
        ids = dict.fromkeys(stored_id for text in texts for stored_id in _ID.findall(text))
        return {stored_id: str(place) for stored_id in ids if (place := self.of(stored_id))}

    def tool(self, stored_id: str) -> str | None:
        """The tool of a call's part; None where the id is none's."""
        return self._tools.get(stored_id)


def conversation(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages in stored order, cut in front of every prompt that begins a turn on the screen: one that holds more
    than the client's own words."""
    found: list[list[Message]] = []
    for message in messages:
        if not found or (message.is_user and _begins(message)):
            found.append([])
        found[-1].append(message)
    return found


def _begins(message: Message) -> bool:
    return not message.parts or any(
        part.kind in ("file", "subtask", "agent")
        or (part.kind == "text" and not (isinstance(part, TextPart) and part.synthetic))
        for part in message.parts
    )


def _names(turn: Sequence[Message], number: int) -> Iterator[tuple[str, Place]]:
    """Every message and part of a turn; a name that stands more than once in it gets a number."""
    named = [(message.id, message_called(message.kind)) for message in turn]
    named += [(part.id, _name(part)) for message in turn for part in message.parts]
    for stored_id, name in numbered(named):
        yield stored_id, Place(name, number)


def numbered(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Ids and names of one turn; a name that stands more than once gets a number."""
    every = list(named)
    total = Counter(name for _, name in every)
    seen: Counter[str] = Counter()
    for stored_id, name in every:
        seen[name] += 1
        yield stored_id, f"{name} {seen[name]}" if total[name] > 1 else name


def message_called(kind: str) -> str:
    """What a message is called in its turn, by its kind as it is stored."""
    return {"user": "user message", "assistant": "answer"}.get(kind) or kind.replace("-", " ") or "message"


def part_called(kind: str, tool: str | None = None) -> str:
    """What a part is called, by its kind and tool as they are stored."""
    if kind == "tool":
        return f"{tool_name(tool or '')} call"
    return _KINDS.get(kind) or kind.replace("-", " ") or "part"


def _name(part: Part) -> str:
    return part_called(part.kind, part.tool if isinstance(part, ToolPart) else None)


def tool_name(tool: str) -> str:
    """As it stands in a sentence: one line, cut where it is long, "tool" where there is none."""
    words = " ".join(str(tool).split())
    return (words if len(words) <= LONGEST_TOOL else f"{words[: LONGEST_TOOL - 1]}…") or "tool"


def filled(line: str, tools: Sequence[str]) -> str:
    """A rule's line with the tools of the calls it is about: {tool} ("bash"), {Tool} ("A bash call") and {Count}."""
    tool = tool_name(tools[0]) if len(set(tools)) == 1 else "tool"
    count = _COUNTS[len(tools)] if len(tools) < len(_COUNTS) else f"{len(tools):,}"
    article = "An" if tool[:1].lower() in "aeiou" else "A"
    return line.format(tool=tool, Tool=f"{article} {tool} call", Count=count)


@dataclass(frozen=True, slots=True)
class Told:
    """A finding as people are told: its line, its place ("" where it is at none), and the place of every stored id that
    stands in it or in its words."""

    line: str
    place: str
    names: dict[str, str]


NAMED = 12
"""Places of a finding that are named, beside those its words name: a page shows no more."""


def told(session: Session, findings: Sequence[Finding], lines: Mapping[str, str]) -> list[Told]:
    """Findings in words; ``lines`` are those of the rules by code."""
    known = Places(session) if findings else None
    return [_told(finding, lines.get(finding.rule, ""), known) for finding in findings] if known else []


def _told(finding: Finding, line: str, known: Places) -> Told:
    at = [*finding.parts, *finding.messages][:NAMED]
    names = {stored: str(place) for stored in at if (place := known.of(stored))}
    names |= known.named_in(finding.summary, *(choice.label for choice in finding.choices))
    tools = [tool for part in finding.parts if (tool := known.tool(part)) is not None]
    return Told(filled(line, tools), next((names[stored] for stored in at if stored in names), ""), names)


_DONE: Final = {"replace": "changed", "delete": "removed", "insert": "added"}
_SUBJECTS: Final = {
    "session": "the session's row",
    "input": "a waiting prompt",
    "sequence": "the count of events",
    "epoch": "the context's beginning",
}
DONE: Final = 3
"""Places of a repair that are said."""


def done(session: Session, operations: Sequence[Operation]) -> str:
    """What operations do to a session, in words: "bash call 2, turn 1 removed"; "" where they are none."""
    known = Places(session) if operations else None
    each = list(dict.fromkeys(_done(one, known) for one in operations)) if known else []
    more = [f"and {len(each) - DONE:,} more"] if len(each) > DONE else []
    return "; ".join((*each[:DONE], *more))


def _done(operation: Operation, known: Places) -> str:
    made = operation.action == "insert" and operation.subject in ("part", "message")
    place = known.of(operation.message_id if made else operation.part_id or operation.message_id)
    if made:
        return f"a {operation.subject} added" + (f" at {place}" if place else "")
    name = str(place) if place else _SUBJECTS.get(operation.subject, f"a {operation.subject}")
    return f"{name} {_DONE[operation.action]}"


def near(names: Mapping[str, str], place: str) -> dict[str, str]:
    """The places as they are said beside ``place``: without the turn where it is the same."""
    turn = f", {turn_of(place)}"
    return {stored_id: name.removesuffix(turn) for stored_id, name in names.items()}


def turn_of(place: str) -> str:
    """ "turn 7" of "bash call 2, turn 7"; all of what names no turn."""
    return place.rpartition(", ")[2]


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a sentence. ``stored_id`` is what stood there, "" for words that are said as they are."""

    text: str
    stored_id: str = ""


def in_words(text: str, names: Mapping[str, str]) -> list[Word]:
    """A sentence with places for ids: those of ``names`` by their place, other messages and parts as "a message" and "a
    part", long call ids shortened to their ends (8 and 4 characters)."""
    found: list[Word] = []
    start = 0
    for match in _ID.finditer(text):
        said = _instead(match[0], names)
        if said:
            found += [Word(text[start : match.start()]), Word(said, match[0])]
            start = match.end()
    return [word for word in (*found, Word(text[start:])) if word.text]


def _instead(token: str, names: Mapping[str, str]) -> str:
    if token in names:
        return names[token]
    if token.startswith("msg_"):
        return "a content item" if "#" in token else "a message"
    if token.startswith("prt_"):
        return "a part"
    return f"{token[:8]}…{token[-4:]}" if _CALL.match(token) else ""


def in_places(text: str, known: Places) -> str:
    """A sentence with places for the ids of a session in it."""
    names = {token: str(place) for token in _ID.findall(text) if (place := known.of(token))}
    return "".join(word.text for word in in_words(text, names))
