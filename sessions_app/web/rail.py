"""The fault rail: the whole session as a strip, marks where faults are. Percentages of its height; the template draws
SVG attributes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sessions_app.selectors.timeline import Fault, Outline, Window

NEAR = 4.5
"""Marks closer than this are drawn as one with a number (24 px at usual heights)."""

BANDS = 150
"""Turns up to which each has a band of its own."""


@dataclass(frozen=True, slots=True)
class Band:
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class RailMark:
    y: float
    shape: str
    count: int
    fault: Fault

    @property
    def symbol(self) -> str:
        return "duplicate" if self.shape == "twin" else self.shape


@dataclass(frozen=True, slots=True)
class Rail:
    bands: tuple[Band, ...]
    marks: tuple[RailMark, ...]
    window: Band


def fault_rail(outline: Outline, window: Window) -> Rail:
    """The strip of a session; ``window`` is what is on the page."""
    scale = 100 / max(outline.parts, 1)
    step = max(1, -(-len(outline.turns) // BANDS))
    starts = [turn.first * scale for turn in outline.turns[::step]] + [100.0]
    bands = tuple(Band(y, max(end - y, 0.1)) for y, end in pairwise(starts))
    return Rail(
        bands,
        tuple(_marks(outline, scale)),
        rail_window(outline, window.start, window.end),
    )


def rail_window(outline: Outline, start: int, end: int) -> Band:
    """What is on the page, on the strip."""
    scale = 100 / max(outline.parts, 1)
    return Band(start * scale, max((end - start) * scale, 0.8))


def _marks(outline: Outline, scale: float) -> list[RailMark]:
    marks: list[RailMark] = []
    for fault in outline.serious or outline.notes:
        y = min(max(fault.position * scale, 0.5), 97.0)
        if marks and y - marks[-1].y < NEAR:
            last = marks[-1]
            worse = last if _rank(last.shape) <= _rank(_shape(fault)) else RailMark(last.y, _shape(fault), 0, fault)
            marks[-1] = RailMark(last.y, worse.shape, last.count + 1, worse.fault)
        else:
            marks.append(RailMark(y, _shape(fault), 1, fault))
    return marks


def _shape(fault: Fault) -> str:
    if fault.rule.startswith("duplicate-call-id") and fault.severity != "info":
        return "twin"
    return {"blocked": "blocked", "at-risk": "risk"}.get(fault.severity, "info")


def _rank(shape: str) -> int:
    return ("blocked", "twin", "risk", "info").index(shape)
