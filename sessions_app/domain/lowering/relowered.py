"""Canonical messages of a long session: those whose texts are far (``fartexts``) are lowered anew whenever they are
looked at, so that going through them takes the memory of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sessions_app.domain.model import Message
from sessions_app.domain.wire.lowered import CanonicalMessage


class _Place(NamedTuple):
    """Which of the canonical messages that a stored one becomes."""

    message: Message
    at: int


class Relowered(list[Any]):
    """A list of canonical messages; ``again`` makes those of a stored message. Who goes through it, or takes one by its
    number, does not see the difference."""

    def __init__(self, again: Callable[[Message], list[CanonicalMessage]]) -> None:
        super().__init__()
        self._again = again
        self.forgets = False
        """Something in it is made anew whenever it is asked for."""

    def forget(self, start: int, message: Message) -> None:
        """Do not hold those from ``start`` on, which ``message`` became."""
        self.forgets = True
        self[start:] = [_Place(message, at) for at in range(len(self) - start)]

    def __iter__(self) -> Iterator[CanonicalMessage]:
        before: Message | None = None
        made: list[CanonicalMessage] = []
        for one in super().__iter__():
            if isinstance(one, _Place):
                if one.message is not before:
                    before, made = one.message, self._again(one.message)
                yield made[one.at]
            else:
                yield one

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return list(self)[index]
        one = super().__getitem__(index)
        return self._again(one.message)[one.at] if isinstance(one, _Place) else one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and list(self) == list(other)

    __hash__ = None
