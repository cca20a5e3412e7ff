"""What makes a session slow to open: how large its rows are, turn by turn and by kind, and what can be taken out.

A client reads every row of a session whenever it opens it, sent or not. Sizes are characters of stored JSON, which are
bytes where the text is ASCII; they are told without reading what stands in the rows.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from .jsjson import encode
from .model import Message, Part, Session
from .places import Places, conversation
from .rules.diffs import SMALL_DIFFS
from .rules.size import HUGE_OUTPUT, OVERFLOW

type Kind = Literal["tool", "diffs", "media", "reasoning", "text", "other"]

KINDS: Final[dict[Kind, str]] = {
    "tool": "Tool calls and their outputs",
    "diffs": "Patches kept with prompts",
    "media": "Images and other files",
    "reasoning": "Thinking",
    "text": "Text",
    "other": "All else",
}
"""Kinds in the order in which they are shown, with their names."""
_COUNTED: Final[dict[Kind, tuple[str, str]]] = {
    "tool": ("tool call", "tool calls"),
    "diffs": ("row of patches", "rows of patches"),
    "media": ("file", "files"),
    "reasoning": ("piece of thinking", "pieces of thinking"),
    "text": ("text", "texts"),
    "other": ("other row", "other rows"),
}

HEAVY: Final = 4 * OVERFLOW
"""Characters of a heavy session: four times what any known window holds, so that most of it can never be sent again;
the client reads it at every opening all the same."""
MANY_PARTS: Final = 5_000
"""Parts of a heavy session: each is a row to be read, decoded and drawn, however small. Suture's own page of a session
shows a window of them for that reason."""
LARGE: Final = HUGE_OUTPUT
"""Characters at which one piece is told as large: from there on rules offer to cut it."""
HEAVIEST: Final = 12
"""Pieces that are named."""
WORTH_NAMING: Final = 8 * 1024
"""Characters below which a piece is not named."""
SHARE: Final = 200
"""A piece below one part in so many of the session is not named either: taking it out would change nothing."""
BARS: Final = 120
"""Bars of a chart: more would be thinner than a pixel on a small screen."""

ATTACHED: Final = '"attachments":[{'
"""Where the files of a V1 result begin: its last member, as the client writes it. Inside a text it would be escaped."""
DIFFS: Final = '"diffs":['
FILES: Final = '"files":['
MARKED: Final = 64 * 1024
"""Characters below which a call is not looked through for files: they would not show in the chart."""


class Piece(NamedTuple):
    """What one row, or the files in it, takes. ``at`` is the id of its part or message, "" the session's own row;
    ``turn`` counts from 1, 0 = none."""

    turn: int
    kind: Kind
    size: int
    at: str


@dataclass(frozen=True, slots=True)
class TurnWeight:
    """One turn, or turns one after another that share a bar."""

    first: int
    last: int
    size: int
    kinds: Mapping[Kind, int]

    @property
    def called(self) -> str:
        """ "turn 7", "turns 7 to 9", "outside every turn"."""
        if not self.last:
            return "outside every turn"
        return f"turn {self.first:,}" if self.first == self.last else f"turns {self.first:,} to {self.last:,}"


@dataclass(frozen=True, slots=True)
class Weight:
    """A session's sizes. ``turns`` come in order, those without a row left out; ``heaviest`` the largest first,
    those worth it;
    ``large`` says by kind how many pieces are large, and their size together."""

    size: int
    parts: int
    kinds: Mapping[Kind, int]
    turns: tuple[TurnWeight, ...]
    heaviest: tuple[Piece, ...]
    large: Mapping[Kind, tuple[int, int]]

    @property
    def heavy(self) -> bool:
        """A client is slow to open it."""
        return is_heavy(self.size, self.parts)

    @property
    def sentence(self) -> str:
        """ "Heavy: 48.0 MB, of it 41.0 MB in 3 tool calls", with its parts where they are many; "" where it is not."""
        if not self.heavy:
            return ""
        told = [f"{self.parts:,} parts"] if self.parts >= MANY_PARTS else []
        size = in_bytes(self.size)
        if self.large:
            kind, (count, held) = max(self.large.items(), key=lambda item: item[1][1])
            size += f", of it {in_bytes(held)} in {count:,} {_COUNTED[kind][count != 1]}"
        return f"Heavy: {' and '.join([*told, size])}"

    def bars(self, most: int = BARS) -> tuple[TurnWeight, ...]:
        """The turns, so many of them together that there are no more than ``most``; what is outside every turn has a
        bar of its own before them."""
        outside = tuple(turn for turn in self.turns if not turn.last)
        turns = self.turns[len(outside) :]
        step = -(-len(turns) // most) or 1
        return outside + tuple(_together(turns[start : start + step]) for start in range(0, len(turns), step))


def is_heavy(size: int, parts: int) -> bool:
    """Whether a session of so many characters and parts counts as heavy."""
    return size >= HEAVY or parts >= MANY_PARTS


def in_bytes(size: int) -> str:
    """As pages write sizes: "1.5 MB" of 1,024 x 1,024 bytes."""
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} {'byte' if size == 1 else 'bytes'}"


def weigh(pieces: Iterable[Piece], parts: int) -> Weight:
    """The weight of a session with so many parts."""
    turns: dict[int, dict[Kind, int]] = {}
    every = [piece for piece in pieces if piece.size > 0]
    for turn, kind, size, _ in every:
        held = turns.get(turn)
        if held is None:
            held = turns[turn] = {}
        held[kind] = held.get(kind, 0) + size
    each = tuple(TurnWeight(turn, turn, sum(turns[turn].values()), _ordered(turns[turn])) for turn in sorted(turns))
    kinds: Counter[Kind] = Counter()
    for held in turns.values():
        for kind, size in held.items():
            kinds[kind] += size
    least = max(WORTH_NAMING, kinds.total() / SHARE)
    told = [piece for piece in every if piece.size >= least]
    return Weight(
        size=kinds.total(),
        parts=parts,
        kinds=_ordered(kinds),
        turns=each,
        heaviest=tuple(heapq.nlargest(HEAVIEST, told, key=lambda piece: piece.size)),
        large=_large(every),
    )


def _large(pieces: Iterable[Piece]) -> dict[Kind, tuple[int, int]]:
    sizes: dict[Kind, list[int]] = {}
    for piece in pieces:
        if piece.size >= LARGE:
            sizes.setdefault(piece.kind, []).append(piece.size)
    return {kind: (len(sizes[kind]), sum(sizes[kind])) for kind in KINDS if kind in sizes}


def _ordered(kinds: Mapping[Kind, int]) -> dict[Kind, int]:
    return {kind: kinds[kind] for kind in KINDS if kinds.get(kind)}


def _together(turns: Sequence[TurnWeight]) -> TurnWeight:
    kinds: Counter[Kind] = Counter()
    for turn in turns:
        kinds.update(turn.kinds)
    return TurnWeight(turns[0].first, turns[-1].last, kinds.total(), _ordered(kinds))


def of_part(turn: int, at: str, kind: str, size: int, files: int = -1) -> Iterator[Piece]:
    """A part's pieces. ``files``: where in its stored JSON the files of a result begin, negative = nowhere."""
    if kind != "tool":
        yield Piece(turn, _PART_KINDS.get(kind, "other"), size, at)
    elif files < 0:
        yield Piece(turn, "tool", size, at)
    else:
        yield Piece(turn, "tool", files, at)
        yield Piece(turn, "media", size - files, at)


_PART_KINDS: Final[dict[str, Kind]] = {"text": "text", "reasoning": "reasoning", "file": "media", "image": "media"}


def of_message(turn: int, at: str, kind: str, size: int, *, diffs: bool, files: bool) -> Piece:
    """What a message's row takes beside its parts. ``diffs`` and ``files``: it holds such a list."""
    if diffs and size > SMALL_DIFFS:
        return Piece(turn, "diffs", size, at)
    if files and size > SMALL_DIFFS:
        return Piece(turn, "media", size, at)
    return Piece(turn, _MESSAGE_KINDS.get(kind, "other"), size, at)


_MESSAGE_KINDS: Final[dict[str, Kind]] = {"shell": "tool", "compaction": "text", "synthetic": "text", "system": "text"}
"""Of V2 messages, which hold their content themselves."""


def of_session_row(row: Mapping[str, Any]) -> Iterator[Piece]:
    """The patches that the session's own row keeps."""
    held = row.get("summary_diffs")
    if isinstance(held, str) and len(held) > SMALL_DIFFS:
        yield Piece(0, "diffs", len(held), "")


def session_pieces(session: Session) -> Iterator[Piece]:
    """The pieces of a session that was read from its store, of the history that its client uses."""
    lines = bool(session.rows.lines)
    yield from of_session_row(session.rows.session)
    for part in session.orphans:
        yield from _of(0, part, lines)
    for number, turn in enumerate(conversation(session.messages), 1):
        for message in turn:
            if not lines:
                yield _row_of(number, message)
            for part in message.parts:
                yield from _of(number, part, lines)


def _row_of(turn: int, message: Message) -> Piece:
    raw, user = message.raw, message.is_user
    inside = sum(part.size for part in message.parts) if message.generation else 0  # V2 items stand in it
    size = max(len(raw) - inside, 0)
    return of_message(turn, message.id, message.kind, size, diffs=user and DIFFS in raw, files=user and FILES in raw)


def _of(turn: int, part: Part, line: bool) -> Iterator[Piece]:
    """``line``: it is read from a line, which may hold others too."""
    raw = encode(part.data) if line and part.fault is None else part.raw
    looked = part.kind == "tool" and len(raw) >= MARKED
    return of_part(turn, part.id, part.kind, len(raw), raw.find(ATTACHED) if looked else -1)


@dataclass(frozen=True, slots=True)
class Way:
    """A repair of the session's findings that takes something out. ``size`` is how much, about; ``findings`` are their
    keys."""

    rule: str
    choice: str
    safety: Literal["safe", "lossy"]
    words: str
    size: int
    findings: tuple[str, ...]


_WAYS: Final[dict[str, tuple[str, Literal["safe", "lossy"], str]]] = {
    "huge-summary-diffs": (
        "drop-patches",
        "safe",
        "Drop the texts of whole patches; names of files and counts of lines stay",
    ),
    "huge-output-unsent": ("truncate", "lossy", "Keep head and tail of each huge output that is no longer sent"),
    "huge-output": ("truncate", "lossy", "Keep head and tail of each output that is too big to be sent"),
    "media-rejected": ("note", "lossy", "Replace each file that a provider refuses by a note of what it was"),
}
"""Rule -> the choice that makes rows smaller. Marking an output compacted is none: it stays stored."""
RULES: Final = tuple(_WAYS)
"""Rules whose findings can make a session lighter."""
INSTEAD: Final = (
    "Nothing else is taken out of a conversation. Go on in a new session, and give it a summary of this one. A"
    " compaction, or an output that is marked compacted, makes requests smaller; the rows stay, and are read at every"
    " opening."
)
"""What to do where no repair takes enough out."""


def ways(found: Iterable[tuple[str, str, Mapping[str, Any]]]) -> tuple[Way, ...]:
    """The ways that findings open, that which takes out most first; each is rule, key and details."""
    keys: dict[str, list[str]] = {}
    sizes: Counter[str] = Counter()
    for rule, key, details in found:
        if rule in _WAYS and "count" not in details:
            keys.setdefault(rule, []).append(key)
            sizes[rule] += _held(details)
    opened = [Way(rule, *_WAYS[rule], sizes[rule], tuple(keys[rule])) for rule in keys]
    return tuple(sorted(opened, key=lambda way: -way.size))


def _held(details: Mapping[str, Any]) -> int:
    files = details.get("files")
    sizes = [one.get("size") for one in files if isinstance(one, Mapping)] if isinstance(files, (list, tuple)) else []
    return sum(size for size in (details.get("characters"), *sizes) if isinstance(size, int))


@dataclass(frozen=True, slots=True)
class Named:
    """One of the heaviest pieces with its place in words, "bash call 2, turn 7"."""

    piece: Piece
    place: str


def named(weight: Weight, session: Session) -> tuple[Named, ...]:
    """The heaviest pieces of a session that was read from its store."""
    known = Places(session)
    return tuple(Named(piece, str(known.of(piece.at) or OWN_ROW)) for piece in weight.heaviest)


OWN_ROW: Final = "the session's own row"


def as_document(weight: Weight, heaviest: Sequence[Named], opened: Sequence[Way]) -> dict[str, Any]:
    """What commands and REST give of it."""
    return {
        "heavy": weight.heavy,
        "sentence": weight.sentence,
        "size": weight.size,
        "parts": weight.parts,
        "kinds": dict(weight.kinds),
        "turns": [{"turn": turn.first, "size": turn.size, "kinds": dict(turn.kinds)} for turn in weight.turns],
        "heaviest": [
            {
                "id": one.piece.at,
                "kind": one.piece.kind,
                "size": one.piece.size,
                "turn": one.piece.turn,
                "place": one.place,
            }
            for one in heaviest
        ],
        "ways": [
            {
                "rule": way.rule,
                "choice": way.choice,
                "safety": way.safety,
                "words": way.words,
                "size": way.size,
                "findings": list(way.findings),
            }
            for way in opened
        ],
    }
