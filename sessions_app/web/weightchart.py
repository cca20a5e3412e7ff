"""What a session weighs, one bar a turn: places and heights for an SVG that needs no style of its own, and the same as
rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from sessions_app.domain.weight import INSTEAD, KINDS, Kind, TurnWeight, Way, Weight, in_bytes
from sessions_app.models import Session
from sessions_app.selectors.outline import Outline
from sessions_app.selectors.weight import Weighed

from . import present
from .addresses import address

HEIGHT, STEP, WIDTH = 72, 10, 8
_LEAST = 0.5
"""Height of a piece that would not be seen otherwise."""
TONES: tuple[tuple[str, str, tuple[Kind, ...]], ...] = (
    ("repaired", KINDS["tool"], ("tool",)),
    ("blocked", KINDS["diffs"], ("diffs",)),
    ("risk", KINDS["media"], ("media",)),
    ("healthy", "Thinking and text", ("reasoning", "text")),
    ("calm", KINDS["other"], ("other",)),
)
"""A colour's name, what it stands for and the kinds that it holds, from the bottom up."""


@dataclass(frozen=True, slots=True)
class Piece:
    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """``words`` say the bar for who points at it; ``url`` leads to its first turn, "" = to none; ``cells`` are its
    sizes, as the heads of the table."""

    x: int
    pieces: tuple[Piece, ...]
    words: str
    name: str
    url: str
    size: int
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Heaviest:
    name: str
    kind: str
    size: int
    url: str


@dataclass(frozen=True, slots=True)
class WayOut:
    words: str
    safety: present.Look
    size: int
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class Chart:
    """``kinds``: colour, name and size, of what there is. ``together``: bars stand for more than one turn."""

    sentence: str
    bars: tuple[Bar, ...]
    together: bool
    kinds: tuple[tuple[str, str, int], ...]
    heaviest: tuple[Heaviest, ...]
    ways: tuple[WayOut, ...]
    instead: str
    total: int
    width: int
    height: int = HEIGHT
    bar: int = WIDTH


def weight_chart(session: Session, weighed: Weighed, outline: Outline, listed: str) -> Chart:
    """``listed``: the list that the session was opened from."""
    weight = weighed.weight
    place = reverse("sessions_app:session", args=[session.pk])

    def at(stored_id: str) -> str:
        return place + address({"at": stored_id, "list": listed}, stored_id) if stored_id else ""

    first = {turn.number: turn.messages[0].stored_id for turn in outline.turns}
    grouped = weight.bars()
    most = max((turn.size for turn in grouped), default=1)
    return Chart(
        sentence=weight.sentence,
        bars=tuple(_bar(n * STEP, turn, most, at(first.get(turn.first, ""))) for n, turn in enumerate(grouped)),
        together=len(grouped) < len(weight.turns),
        kinds=tuple(_kinds(weight)),
        heaviest=tuple(
            Heaviest(one.place, KINDS[one.piece.kind], one.piece.size, at(one.piece.at)) for one in weighed.heaviest
        ),
        ways=tuple(_way(session.pk, way) for way in weighed.ways),
        instead=INSTEAD if weight.heavy else "",
        total=weight.size,
        width=STEP * max(len(grouped), 1),
    )


def _bar(x: int, turn: TurnWeight, most: int, url: str) -> Bar:
    sizes = tuple(_held(turn, kinds) for _, _, kinds in TONES)
    name = turn.called[:1].upper() + turn.called[1:]
    told = [f"{word.lower()} {in_bytes(size)}" for (_, word, _), size in zip(TONES, sizes, strict=True) if size]
    return Bar(x, tuple(_pieces(sizes, most)), f"{name}: {', '.join(told)}", name, url, turn.size, sizes)


def _held(held: TurnWeight | Weight, kinds: tuple[Kind, ...]) -> int:
    return sum(held.kinds.get(kind, 0) for kind in kinds)


def _pieces(sizes: tuple[int, ...], most: int) -> Iterator[Piece]:
    top = float(HEIGHT)
    for (tone, _, _), size in zip(TONES, sizes, strict=True):
        if size:
            height = max(_LEAST, round(size / most * HEIGHT, 1))
            top -= height
            yield Piece(tone, round(max(top, 0), 1), height)


def _kinds(weight: Weight) -> Iterator[tuple[str, str, int]]:
    for tone, name, kinds in TONES:
        if size := _held(weight, kinds):
            yield tone, name, size


def _way(session_id: int, way: Way) -> WayOut:
    asked = {"rule": way.rule} | ({} if way.safety == "safe" else {f"choice.{way.rule}": way.choice})
    url = f"{reverse('sessions_app:repair', args=[session_id])}?{urlencode(asked)}"
    return WayOut(way.words, present.SAFETY[way.safety], way.size, len(way.findings), url)
