"""Turns, messages and parts, and what they weigh."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field


class PartOut(Schema):
    id: str
    kind: str
    tool: str
    call_id: str
    status: str
    size: int
    data: Any = Field(description="null where it does not decode")
    problem: str
    findings: list[str] = Field(description="keys of the findings at it")


class MessageOut(Schema):
    id: str
    kind: str
    provider: str
    model: str
    time: int | None
    data: Any
    problem: str
    parts: list[PartOut]
    findings: list[str]


class TurnOut(Schema):
    number: int
    messages: list[MessageOut]


class WaitingOut(Schema):
    """A prompt that the V2 server took and never sent."""

    id: str
    text: str
    delivery: str = Field(description='"steer": sent before the next prompt; "queue": after its turn')
    time: int


class TimelineOut(Schema):
    """Whole turns, in stored order: the parts with index start to end (exclusive) of all."""

    start: int
    end: int
    of: int
    turns: list[TurnOut]
    waiting: list[WaitingOut]


class TurnWeightOut(Schema):
    turn: int = Field(description="from 1; 0 = outside every turn")
    size: int
    kinds: dict[str, int]


class HeaviestOut(Schema):
    """A part, or a message's own row."""

    id: str = Field(description='"" = the session\'s own row')
    kind: str
    size: int
    turn: int
    place: str


class LighterOut(Schema):
    """A repair that takes something out."""

    rule: str
    choice: str
    safety: str
    words: str
    size: int = Field(description="how much it takes out, about")
    findings: list[str] = Field(description="keys of the findings it repairs")


class WeightOut(Schema):
    """Sizes are characters of stored JSON. Kinds: tool, diffs, media, reasoning, text, other."""

    heavy: bool
    sentence: str = Field(description='"" where it is not heavy')
    size: int
    parts: int
    kinds: dict[str, int]
    turns: list[TurnWeightOut]
    heaviest: list[HeaviestOut]
    ways: list[LighterOut]
