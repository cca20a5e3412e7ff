"""The content items of an assistant row as parts.

An item has no row of its own: its text lies inside its row's, and is cut out of it only when somebody asks, since a
second copy of every long tool output would double what a session takes in memory.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from sessions_app.domain import jsonedit
from sessions_app.domain.model import OtherPart, Part, ReasoningPart, TextPart, ToolPart


class _Content(msgspec.Struct):
    content: list[msgspec.Raw] = []


_decode = msgspec.json.Decoder(_Content).decode


@lru_cache(maxsize=2)
def item_texts(row: str) -> tuple[str, ...]:
    """The stored text of each content item of an assistant row, given the row's own text. Raises ``ValueError`` for
    other texts."""
    try:
        return tuple(str(memoryview(raw), "utf-8") for raw in _decode(row.encode()).content)
    except (msgspec.MsgspecError, ValueError):
        # Lone surrogates and numbers that msgspec refuses.
        return tuple(jsonedit.items_at(row, ("content",)))


class _InRow(Part):
    """Keeps no text of its own: ``raw`` is cut out of the row."""

    __slots__ = ()

    @property
    def raw(self) -> str:
        """The item's text as it stands in its row."""
        stored = self.row.get("data") if self.row is not None else ""
        return item_texts(stored.decode("utf-8", "replace") if isinstance(stored, bytes) else stored)[self.index]

    @raw.setter
    def raw(self, text: str) -> None:
        """Nothing to keep."""


class TextItem(_InRow, TextPart):
    """A text of an assistant row."""

    __slots__ = ()


class ReasoningItem(_InRow, ReasoningPart):
    """The reasoning of an assistant row."""

    __slots__ = ()


class ToolItem(_InRow, ToolPart):
    """A tool call of an assistant row."""

    __slots__ = ()


class OtherItem(_InRow, OtherPart):
    """Any other item of an assistant row."""

    __slots__ = ()
