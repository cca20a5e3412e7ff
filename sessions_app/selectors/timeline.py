"""Windows of a session's timeline: whole turns around a place, in stored order, contents decoded for the window
only."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from sessions_app.domain.rowcodec import decode_value
from sessions_app.models import Message, Part, Session

from .outline import Fault, Outline, TurnHead, Twin, session_outline
from .windowrows import StoredMessage, StoredPart, load_rows

__all__ = [
    "Fault",
    "MessageBlock",
    "Outline",
    "PartRow",
    "TurnBlock",
    "TurnHead",
    "Window",
    "part_value",
    "session_outline",
    "timeline_window",
]

WINDOW_PARTS = 200
"""Parts that one window holds at most."""


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part as stored. ``value`` is its decoded JSON, None where ``problem`` says why it does not decode."""

    id: int | None
    """Suture's own id, None for the text of a V2 message, which has no part row."""
    stored_id: str
    kind: str
    tool: str
    call_id: str
    status: str
    size: int
    value: dict[str, Any] | None
    problem: str
    faults: tuple[Fault, ...] = ()
    twin: Twin | None = None
    step: int = 0
    """A step-start: the number of the step in the message that begins here."""
    after_failed_attempt: bool = False
    """A step-start: the step before it never finished, so this is the next attempt."""


@dataclass(frozen=True, slots=True)
class MessageBlock:
    id: int
    stored_id: str
    kind: str
    provider: str
    model: str
    time: int | None
    value: dict[str, Any]
    problem: str
    parts: tuple[PartRow, ...]
    faults: tuple[Fault, ...]
    idle: int | None
    """Milliseconds since the message before, where that is five minutes or more."""
    continued: bool = False
    """The window begins in the middle of this message."""
    model_before: str = ""
    """The model of the last answer before it, where this answer is another's."""
    above: int = 0
    """Parts stored before it."""

    @property
    def compacts(self) -> bool:
        """The conversation was compacted here, or was to be."""
        return self.kind == "compaction" or any(part.kind == "compaction" for part in self.parts)

    @property
    def interrupted(self) -> bool:
        return "abort" in str((self.error or {}).get("name") or (self.error or {}).get("type") or "").lower()

    @property
    def error(self) -> dict[str, Any] | None:
        value = self.value.get("error")
        return value if isinstance(value, dict) else None

    @property
    def error_words(self) -> str:
        """What the failed turn says of itself."""
        error = self.error or {}
        data = error.get("data")
        words = data.get("message") if isinstance(data, dict) else None
        return str(words or error.get("message") or "")

    @property
    def took(self) -> int | None:
        """Milliseconds from creation to completion, None while it is open."""
        times = self.value.get("time")
        done = times.get("completed") if isinstance(times, dict) else None
        return int(done - self.time) if isinstance(done, (int, float)) and self.time else None

    @property
    def open(self) -> bool:
        times = self.value.get("time")
        return self.kind == "assistant" and isinstance(times, dict) and "completed" not in times


@dataclass(frozen=True, slots=True)
class TurnBlock:
    head: TurnHead
    messages: tuple[MessageBlock, ...]
    continued: bool = False
    """The window begins in the middle of this turn."""
    cut: bool = False
    """The window ends in the middle of this turn."""


@dataclass(frozen=True, slots=True)
class Window:
    """The parts with index ``start`` to ``end`` (exclusive) of ``of``."""

    turns: tuple[TurnBlock, ...]
    start: int
    end: int
    of: int

    @property
    def earlier(self) -> int:
        """Parts before the window."""
        return self.start

    @property
    def later(self) -> int:
        return self.of - self.end


IDLE = 5 * 60 * 1000


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is shown or left out as one: a turn, or a slice of a turn that is longer than a window."""

    turn: int
    start: int
    end: int

    @property
    def parts(self) -> int:
        return self.end - self.start


def timeline_window(
    session: Session,
    outline: Outline,
    *,
    at: int | None = None,
    to: int | None = None,
    since: int | None = None,
    limit: int = WINDOW_PARTS,
) -> Window:
    """Whole turns, at most ``limit`` parts: around part index ``at`` (None: the end), or those that end before ``to``,
    or the one that holds ``since`` and what follows it.

    A turn longer than ``limit`` is shown in slices of whole messages, a message longer than that in slices of parts.
    """
    units = _units(outline, limit)
    if to is not None:
        chosen = _fill([unit for unit in reversed(units) if unit.end <= to], limit)[::-1]
    elif since is not None:
        chosen = _fill([unit for unit in units if unit.end > since], limit)
    else:
        center = next((i for i, unit in enumerate(units) if at is not None and at < unit.end), len(units) - 1)
        chosen = _around(units, center, limit) if units else []
    if not chosen:
        beyond = outline.parts if since else 0
        return Window((), beyond, beyond, outline.parts)
    start, end = chosen[0].start, chosen[-1].end
    turns = outline.turns[chosen[0].turn : chosen[-1].turn + 1]
    return Window(_blocks(session, outline, turns, start, end), start, end, outline.parts)


def _units(outline: Outline, limit: int) -> list[_Unit]:
    units: list[_Unit] = []
    for index, turn in enumerate(outline.turns):
        if turn.parts <= limit:
            units.append(_Unit(index, turn.first, turn.first + turn.parts))
            continue
        begin = turn.first
        for head in turn.messages:
            end = head.first + head.parts
            if end - begin > limit and head.first > begin:
                units.append(_Unit(index, begin, head.first))
                begin = head.first
            while end - begin > limit:
                units.append(_Unit(index, begin, begin + limit))
                begin += limit
        units.append(_Unit(index, begin, turn.first + turn.parts))
    return units


def _fill(units: list[_Unit], limit: int) -> list[_Unit]:
    """The first units that fit together; one at least."""
    chosen: list[_Unit] = []
    for unit in units:
        if chosen and unit.parts > limit:
            break
        chosen.append(unit)
        limit -= unit.parts
    return chosen


def _around(units: list[_Unit], center: int, limit: int) -> list[_Unit]:
    """The unit, a little of what leads to it, then what follows, then more of what is before."""
    first = last = center
    room = limit - units[center].parts
    lead = room // 4
    while first > 0 and units[first - 1].parts <= lead:
        first -= 1
        room -= units[first].parts
        lead -= units[first].parts
    while last + 1 < len(units) and units[last + 1].parts <= room:
        last += 1
        room -= units[last].parts
    while first > 0 and units[first - 1].parts <= room:
        first -= 1
        room -= units[first].parts
    return units[first : last + 1]


def _blocks(
    session: Session, outline: Outline, turns: tuple[TurnHead, ...], start: int, end: int
) -> tuple[TurnBlock, ...]:
    shown = [
        (turn, [head for head in turn.messages if head.first + head.parts > start and head.first < end])
        for turn in turns
    ]
    contents = load_rows(session, [head for _, heads in shown for head in heads])
    marks = _Marks(outline)
    previous = _time_before(outline, start)
    answered = ""
    blocks = []
    for turn, heads in shown:
        messages = []
        for head in heads:
            stored = contents.messages.get(head.id)
            if stored is None:
                continue
            gap = head.time - previous if head.time and previous else 0
            previous = head.time or previous
            block = _message(stored, contents.parts[head.stored_id], marks, gap if gap >= IDLE else None)
            used = f"{block.provider}/{block.model}" if block.kind == "assistant" and block.model else ""
            changed = bool(used and answered and used != answered)
            block = replace(block, above=head.first, model_before=answered if changed else "")
            answered = used or answered
            messages.append(_cut(block, start - head.first, end - head.first))
        last = turn.first + turn.parts
        blocks.append(TurnBlock(turn, tuple(messages), continued=turn.first < start, cut=last > end))
    return tuple(blocks)


def _time_before(outline: Outline, start: int) -> int | None:
    """When the message before the window was made."""
    earlier = [head.time for turn in outline.turns for head in turn.messages if head.first < start and head.time]
    return earlier[-1] if earlier else None


class _Marks:
    """Findings and twins by the stored id they are shown at."""

    def __init__(self, outline: Outline) -> None:
        self.twins = outline.twins
        self.faults: defaultdict[str, list[Fault]] = defaultdict(list)
        for fault in outline.faults:
            for stored_id in fault.parts or fault.messages:
                self.faults[stored_id].append(fault)

    def at(self, stored_id: str) -> tuple[Fault, ...]:
        return tuple(self.faults.get(stored_id, ()))


def _cut(block: MessageBlock, low: int, high: int) -> MessageBlock:
    """The block with its parts ``low`` to ``high`` only."""
    if low <= 0 and high >= len(block.parts):
        return block
    low = max(low, 0)
    return replace(block, parts=block.parts[low:high], continued=low > 0, idle=None if low else block.idle)


def _message(message: StoredMessage, parts: list[StoredPart], marks: _Marks, idle: int | None) -> MessageBlock:
    value, problem = _decoded(decode_value(message.data, message.encoding))
    content = value.get("content") if value else None
    items = content if isinstance(content, list) else []
    rows: list[PartRow] = []
    step, unfinished = 0, False
    for part in parts:
        row = _part(part, items, marks)
        if part.kind == "step-start":
            step += 1
            row = replace(row, step=step, after_failed_attempt=unfinished)
            unfinished = True
        elif part.kind == "step-finish":
            unfinished = False
        rows.append(row)
    if message.table == Message.Table.SESSION_MESSAGE and not rows:
        rows = _own_text(message, value or {})
    return MessageBlock(
        id=message.pk,
        stored_id=message.stored_id,
        kind=message.kind,
        provider=message.provider,
        model=message.model,
        time=message.time_created,
        value=value or {},
        problem=problem,
        parts=tuple(rows),
        faults=tuple(fault for fault in marks.at(message.stored_id) if not fault.parts),
        idle=idle,
    )


def _own_text(message: StoredMessage, value: dict[str, Any]) -> list[PartRow]:
    """A V2 message without content items shows its own words (user, synthetic, shell, compaction ...)."""
    text = value.get("text")
    kind = "text" if isinstance(text, str) else message.kind
    return [PartRow(None, f"{message.stored_id}#", kind, "", "", "", len(message.data), value, "")]


def _part(part: StoredPart, items: list[Any], marks: _Marks) -> PartRow:
    if part.item is None:
        value, problem = _decoded(decode_value(part.data, part.encoding))
    else:
        item = items[part.item] if part.item < len(items) else None
        value, problem = (item, "") if isinstance(item, dict) else (None, "No such content item")
    return PartRow(
        id=part.pk,
        stored_id=part.stored_id,
        kind=part.kind,
        tool=part.tool,
        call_id=part.call_id,
        status=part.status,
        size=part.size,
        value=value,
        problem=problem,
        faults=marks.at(part.stored_id),
        twin=marks.twins.get(part.stored_id),
    )


def _decoded(stored: object) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of a stored value, else why there is none."""
    if not isinstance(stored, str):
        return None, f"Stored as {type(stored).__name__}, not as JSON text"
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError) as error:
        return None, f"Not JSON: {error}"
    if not isinstance(value, dict):
        return None, "Not a JSON object"
    return value, ""


def part_value(part: Part) -> tuple[dict[str, Any] | None, str, str]:
    """``(value, stored text, problem)`` of one part; for a V2 item the text is the item's, as JSON."""
    if part.item is None:
        stored = part.value
        value, problem = _decoded(stored)
        return value, stored if isinstance(stored, str) else repr(stored), problem
    message = part.message
    value, problem = _decoded(message.value) if message is not None else (None, "Its message is not in the session")
    content = value.get("content") if value else None
    if isinstance(content, list) and part.item < len(content) and isinstance(content[part.item], dict):
        item = content[part.item]
        return item, json.dumps(item, ensure_ascii=False, indent=2), ""
    return None, "", problem or "No such content item"
