"""A turn's items as rows: one interface, a shape for each dialect.

A shape is asked for writes after items changed; V1 writes a row per part, V2 the whole assistant row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Row

from .items import Draft, Item

type Table = Literal["message", "part", "session_message"]


@dataclass(frozen=True, slots=True)
class RowPut:
    """The row with this id becomes ``row``: its usual columns, ``data`` as JSON text. A store adds the columns its
    table has beside."""

    table: Table
    row: Row

    @property
    def id(self) -> str:
        """The row's own id."""
        return str(self.row["id"])


@dataclass(frozen=True, slots=True)
class RowDrop:
    """The row with this id goes."""

    table: Table
    id: str


@dataclass(frozen=True, slots=True)
class Spent:
    """A step was paid for at ``at`` (milliseconds): sums of the session row grow (docs/contract/rules.md#0.3)."""

    at: int
    cost: float
    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int


type Write = RowPut | RowDrop | Spent


class Shape(Protocol):
    """How a dialect stores a turn."""

    @property
    def dialect(self) -> Literal["opencode-v1", "opencode-v2"]:
        """The dialect whose rows it writes."""

    def changed(self, draft: Draft, items: Iterable[Item], now: int) -> Sequence[Write]:
        """Writes that bring these items of the message to what they are now."""

    def dropped(self, draft: Draft, ids: Iterable[str], now: int) -> Sequence[Write]:
        """Writes that take items away, which are not in ``draft.items`` any more."""

    def message(self, draft: Draft, now: int) -> Sequence[Write]:
        """Writes that bring the message itself up to date."""

    def prompt(self, draft: Draft, text: str, part_id: str) -> Sequence[Write]:
        """Writes of a user message: ``draft.id`` and ``created`` are its own."""


def text_of(data: dict[str, Any]) -> str:
    """JSON as the client writes it; absent keys are None in ``data``."""
    return dumps({key: value for key, value in data.items() if value is not None})
