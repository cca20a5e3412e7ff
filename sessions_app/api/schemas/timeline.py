"""Turns, messages and parts."""

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
