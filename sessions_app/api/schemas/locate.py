"""Error texts and what they point at."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from .common import In, Number, Thinking, Words


class LocateIn(In):
    """A provider's error text, with whatever stands around it."""

    error: Annotated[str, Field(min_length=1, max_length=200_000)]
    session: Number | None = Field(
        None, description="look in this session; without it, name the sessions that would raise it"
    )
    target: Words = ""
    thinking: Thinking = "auto"


class RaiserOut(Schema):
    """A session whose payload breaks the rule behind the error."""

    session: int
    title: str
    protocol: str
    error: str
    place: str = Field(description="stored id of the part or message")
    exact: bool = Field(description="an id of the text is in its own words")


class LocationOut(Schema):
    """One reading of an error text, the likeliest first."""

    rules: list[str] = Field(description="rules of the protocol, as A3 or O18")
    faults: list[str] = Field(description="codes of the faults it can come from")
    means: str
    protocol: str
    position: str
    message: str = Field(description='stored id of the message at fault, "" where it cannot be told')
    part: str
    by: str = Field(description='what led there: violation, position, id, or ""')


class LocatedOut(Schema):
    items: list[LocationOut]
    sessions: list[RaiserOut] = Field(description="that would raise the error, where no session was named")
