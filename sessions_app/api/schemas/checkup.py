"""A store in one look."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field


class SpaceOut(Schema):
    """What takes the space, in bytes: of a database ``rows``, ``events``, ``free`` pages and its ``wal``; old files
    that a slimming ``kept``; and folders beside it."""

    rows: int
    events: int
    free: int
    wal: int
    kept: int
    snapshots: int
    tool_output: int
    logs: int


class NextOut(Schema):
    """What to do next, and why."""

    command: str
    why: str


class CheckupOut(Schema):
    """A store in one look. ``native``: it is where its client looks for it; ``hidden``: sessions that it does not
    list; ``refused``: sessions whose last call was refused; ``in_use``: programs that have it open."""

    path: str
    kind: str
    native: bool
    problem: str
    sessions: int
    dialects: list[str]
    versions: dict[str, int] = Field(description="client version: sessions it made")
    health: dict[str, int]
    hidden: int
    refused: int
    space: SpaceOut
    found: dict[str, int] = Field(description="faults of the store itself, by rule")
    in_use: list[str]
    next: list[NextOut]
