"""Parts of a long session (``fartexts``): those whose row is a ``FarRow`` read what it holds when they are asked, and
keep the short words that tell parts apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sessions_app.domain.fartexts import FarRow
from sessions_app.domain.model import (
    CompactionPart,
    FilePart,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)


class _Read:
    """An attribute that is made of the row's JSON whenever it is asked for; what is set is let go."""

    def __init__(self, made: Callable[[dict[str, Any]], Any]) -> None:
        self.made = made

    def __get__(self, part: Part, kind: type[Part]) -> Any:
        return self.made(part.data)

    def __set__(self, part: Part, value: Any) -> None:
        """Nothing to keep."""


class FarMessage(Message):
    """A message whose text is not in memory; its value is."""

    __slots__ = ()

    @property
    def raw(self) -> str:
        """The stored text, read anew."""
        text: str = self.row["data"]
        return text

    @raw.setter
    def raw(self, text: str) -> None:
        """Nothing to keep."""


class FarPart(Part):
    """A part whose text and value are not in memory."""

    __slots__ = ()
    row: FarRow

    @property
    def raw(self) -> str:
        """The stored text, read anew."""
        text: str = self.row["data"]
        return text

    @raw.setter
    def raw(self, text: str) -> None:
        """Nothing to keep."""

    @property
    def data(self) -> dict[str, Any]:
        """The decoded object, ``{}`` where the text holds none."""
        far = self.row.far
        try:
            value = far.texts.value(far)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @data.setter
    def data(self, value: dict[str, Any]) -> None:
        """Nothing to keep."""

    @property
    def size(self) -> int:
        """Characters of stored JSON, told without reading it."""
        return self.row.far.length


def _state(data: dict[str, Any]) -> dict[str, Any]:
    return _object(data.get("state"))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class _Text(FarPart, TextPart):
    __slots__ = ()
    text = _Read(lambda data: data.get("text"))


class _Reasoning(FarPart, ReasoningPart):
    __slots__ = ()
    text = _Read(lambda data: data.get("text"))
    metadata = _Read(lambda data: _object(data.get("metadata")))


class _Tool(FarPart, ToolPart):
    __slots__ = ()
    state = _Read(_state)
    input = _Read(lambda data: _state(data).get("input"))


class _File(FarPart, FilePart):
    __slots__ = ()
    url = _Read(lambda data: data["url"] if isinstance(data.get("url"), str) else "")


class _StepStart(FarPart, StepStartPart):
    __slots__ = ()


class _StepFinish(FarPart, StepFinishPart):
    __slots__ = ()
    tokens = _Read(lambda data: _object(data.get("tokens")))


class _Compaction(FarPart, CompactionPart):
    __slots__ = ()


class _Other(FarPart, OtherPart):
    __slots__ = ()


FAR: Final[dict[Callable[..., Part], Callable[..., Part]]] = {
    TextPart: _Text,
    ReasoningPart: _Reasoning,
    ToolPart: _Tool,
    FilePart: _File,
    StepStartPart: _StepStart,
    StepFinishPart: _StepFinish,
    CompactionPart: _Compaction,
    OtherPart: _Other,
}
"""How a part of a kind is read that is far."""
