"""Rows of a long session without their texts in memory (docs/decisions/long-sessions-keep-their-texts-in-a-file.md).

A store that reads more than a session's worth of text puts the long ones elsewhere and hands out rows that fetch them
when they are asked for. Such a row is a row like any other, only that ``row["data"]`` is read anew each time: whoever
keeps the text keeps it in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any, Final

from . import jsjson
from .model import Json, Row

NEAR: Final = 80_000_000
"""Bytes, about, that the rows of one table take before the long texts among them go elsewhere."""
ROW: Final = 1_000
"""Bytes, about, that a row and what is made of it take beside its text."""
HUGE: Final = 16_000_000
"""Characters of one text that is too long to be kept twice, whatever there is besides."""
LONG: Final = 500
"""Characters from which a text is a long one."""
_KNOWN: Final = 2_000_000
"""Characters whose decoded values are kept, so that those who look at a part again find it; the last one always is."""


class Texts(ABC):
    """A place for texts."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Json]] = {}  # by place: a Far here would make a circle
        self._held = 0

    @abstractmethod
    def put(self, text: str) -> Far | None:
        """Keep a text; None where there is no room for it."""

    @abstractmethod
    def raw(self, far: Far) -> bytes:
        """The text that was put, in UTF-8 with surrogates let through."""

    def text(self, far: Far) -> str:
        """The text that was put."""
        return self.raw(far).decode("utf-8", "surrogatepass")

    def value(self, far: Far) -> Json:
        """The JSON value of a text, not to be changed. Raises ``ValueError``."""
        if far.at not in self._known:
            value = jsjson.loads(self.raw(far))
            while self._known and self._held + far.length > _KNOWN:
                length, _ = self._known.pop(next(iter(self._known)))
                self._held -= length
            self._known[far.at] = (far.length, value)
            self._held += far.length
        return self._known[far.at][1]


class Far:
    """Where a text is: ``at`` and ``size`` count bytes, ``length`` characters."""

    __slots__ = ("at", "length", "size", "texts")

    def __init__(self, texts: Texts, at: int, size: int, length: int) -> None:
        self.texts = texts
        self.at = at
        self.size = size
        self.length = length


class FarRow(dict[str, Any]):
    """A row whose ``data`` is far. It cannot be told from another one but by its class; a copy of it is near."""

    __slots__ = ()

    @property
    def far(self) -> Far:
        """Where its text is."""
        found: Far = dict.__getitem__(self, "data")
        return found

    def __getitem__(self, column: str) -> Any:
        found = dict.__getitem__(self, column)
        return found.texts.text(found) if type(found) is Far else found

    def get(self, column: str, otherwise: Any = None) -> Any:
        """As ``dict.get``; the text is read anew."""
        found = dict.get(self, column, otherwise)
        return found.texts.text(found) if type(found) is Far else found

    def __iter__(self) -> Iterator[str]:
        # That it is defined is what has dict(row) and {**row} read the values by their names.
        return dict.__iter__(self)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """As ``dict.items``; the text is read when its turn comes."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """As ``dict.values``; the text is read when its turn comes."""
        return ValuesView(self)

    def copy(self) -> dict[str, Any]:
        """A row with its text in memory."""
        return dict(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and dict(self) == (dict(other) if isinstance(other, FarRow) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def beside(row: Row, new: Row) -> Row:
    """``new``, made of ``row``, with its text where that of ``row`` is."""
    text = new.get("data")
    if not isinstance(row, FarRow) or not isinstance(text, str):
        return new
    far = row.far.texts.put(text)
    return new if far is None else FarRow({**new, "data": far})
