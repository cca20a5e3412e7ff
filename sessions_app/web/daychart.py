"""Thirty days of health as bars: positions and heights for an SVG that needs no style of its own, and the same as
rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions_app.selectors.overview import Day
from sessions_app.web import present

HEIGHT, STEP, WIDTH = 72, 10, 8
SHOWN = (("blocked", "blocked"), ("unreadable", "blocked"), ("at-risk", "risk"), ("healthy", "calm"))
"""Health and the tone of its piece, from the bottom up."""


@dataclass(frozen=True, slots=True)
class Piece:
    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """``words`` say the day for who points at it."""

    x: int
    pieces: tuple[Piece, ...]
    words: str
    repairs: int
    row: tuple[str, ...]
    """The day and its numbers, for the table."""

    @property
    def middle(self) -> float:
        return self.x + WIDTH / 2


@dataclass(frozen=True, slots=True)
class Chart:
    bars: tuple[Bar, ...]
    first: str
    last: str
    since: str
    """The first day that was noted, "" where all were."""
    width: int
    height: int = HEIGHT
    bar: int = WIDTH


def day_chart(days: Sequence[Day]) -> Chart | None:
    """None where nothing was noted yet."""
    noted = [day for day in days if day.health is not None]
    if not noted:
        return None
    most = max(sum(day.health[name] for name, _ in SHOWN) for day in noted if day.health) or 1
    since = _short(noted[0].day) if noted[0] is not days[0] else ""
    bars = tuple(_bar(number * STEP, day, most) for number, day in enumerate(days))
    return Chart(bars, _short(days[0].day), _short(days[-1].day), since, STEP * len(days))


def _bar(x: int, day: Day, most: int) -> Bar:
    health = day.health or {}
    numbers = [health.get(name, 0) for name, _ in SHOWN]
    told = [f"{present.HEALTH[name].word.lower()} {health.get(name, 0):,}" for name, _ in SHOWN if health.get(name)]
    told += [present.counted(day.repairs, "repair")] if day.repairs else []
    row = (_short(day.day), f"{numbers[0] + numbers[1]:,}", f"{numbers[2]:,}", f"{numbers[3]:,}", f"{day.repairs:,}")
    words = f"{_short(day.day)}: {', '.join(told) or 'nothing noted'}"
    return Bar(x, tuple(_pieces(numbers if health else (), most)), words, day.repairs, row)


def _pieces(numbers: Iterable[int], most: int) -> Iterator[Piece]:
    top = float(HEIGHT)
    for (_, tone), number in zip(SHOWN, numbers, strict=False):
        if number:
            height = max(1.0, round(number / most * HEIGHT, 1))
            top -= height
            yield Piece(tone, round(top, 1), height)


def _short(day: dt.date) -> str:
    return f"{day.day} {day:%b}"
