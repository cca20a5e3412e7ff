"""Sessions that one process takes at once, and what came of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sessions_app.stores.base import Problem, Store

type Maker[S, T] = Callable[[Store, S], Callable[[Any], T]]
"""Given a store and settings, gives the function of a session's id. It and all that it is given and gives can be
pickled."""


class Answer(NamedTuple):
    """What a process says: of itself ("ready", "broken") or of one session ("made", "raised")."""

    kind: str
    value: Any = None
    problems: Sequence[Problem] = ()


@dataclass(eq=False)
class Chunk[T]:
    number: int
    ids: list[Any] = field(default_factory=list)
    size: int = 0
    came: int = 0
    """Sessions that are done."""
    waiting: deque[Answer] = field(default_factory=deque)
    """What came of them and is not given on yet."""
    killed: int = 0
    """Processes that were killed with the session in hand."""

    def take(self, answer: Answer) -> None:
        self.waiting.append(answer)
        self.came, self.killed = self.came + 1, 0

    @property
    def rest(self) -> list[Any]:
        return self.ids[self.came :]
