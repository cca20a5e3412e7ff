"""Error texts and what they point at."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from .common import In, Number, Thinking, Words, example


class LocateIn(In):
    """An error text, with whatever stands around it."""

    model_config = example(error="messages.209.content.0.type: Expected `thinking`")

    error: Annotated[str, Field(min_length=1, max_length=200_000)]
    session: Number | None = Field(
        None, description="look in this session; without it, name the sessions that it is about"
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
    by: str = Field(description='what led there: violation, id, recorded, position, or ""')
    about: str = Field(description="the class of what is said")
    kind: str


class PlaceOut(Schema):
    """Where the text leads, by the strongest evidence first."""

    session: int
    stored_id: str
    title: str
    message: str
    part: str
    by: str = Field(description="violation, id, recorded or position")
    error: str = Field(description="the words found there, where they were looked up")


class LocatedOut(Schema):
    class_: str = Field(alias="class", description="history, setting, not-history, store or generic")
    kind: str = Field(
        description="not-history: limit, billing, login, network, model; store: migration, locked, disk, permission,"
        " events"
    )
    next: str = Field(description="what to do now")
    readings: list[LocationOut] = Field(description="what the text says")
    places: list[PlaceOut]
    items: list[LocationOut] = Field(description="readings about the request, resolved where a session was looked in")
    sessions: list[RaiserOut] = Field(description="that would raise the error, where no session was named")
