"""What a search inside conversations finds."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from .sessions import SessionOut


class SearchHitOut(Schema):
    """A session, and the first place in it."""

    session: SessionOut
    at: str = Field(description="id of the part, else of the message; empty = the session itself")
    turn: int | None = Field(description="number of the turn, where it is in one")
    before: str
    found: str = Field(description="what was searched for as it stands there; `before` and `after` are around it")
    after: str


class SearchOut(Schema):
    """What was found, and how far was searched."""

    items: list[SearchHitOut]
    searched: int = Field(description="sessions that were looked at, in the index or by reading")
    total: int
    unindexed: int = Field(description="of these not in the index yet")
    read: int = Field(description="of those the ones that were read instead")
    next: str | None = Field(description="address that goes on with older sessions; null = all were looked at")
