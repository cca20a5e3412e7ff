"""What a turn needs from outside: a store, a provider, tools, time. Each is passed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sessions_app.domain.model import SessionRows

from .events import Event, ToolCall, ToolOutput
from .shapes import Write

type Execute = Callable[[str, dict[str, Any]], ToolOutput | str]
"""Runs a tool: its name and its input. What it raises becomes the error the model sees."""

type RequestBody = Mapping[str, Any]


class TurnStore(Protocol):
    """Where a session's rows are."""

    def rows(self) -> SessionRows:
        """The session as it is stored now."""

    def write(self, writes: Sequence[Write]) -> None:
        """Store all of them or none. Raises where it cannot; the turn ends there, as if the process had died."""


class Feed(Protocol):
    """One provider response and the tools it calls, as one sequence of events that ends with ``Finish`` or
    ``StreamError``, and with the results of all the tools that were started."""

    def __iter__(self) -> Iterator[Event]: ...

    def start(self, call: ToolCall) -> None:
        """Run a tool; its ``ToolResult`` or ``ToolError`` comes by the iteration."""

    def close(self) -> None:
        """Let go of the connection, and of tools that still run."""


type Connect = Callable[[RequestBody], Feed]
"""Sends a request. What it raises is the attempt's failure."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """Published before the wait: which try comes next, why, and when (milliseconds)."""

    attempt: int
    message: str
    next: int


@dataclass(frozen=True, slots=True)
class Busy:
    """Published when a step begins."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Published when the turn is over."""


type Status = Retrying | Busy | Idle


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Time and cancelling, as the caller has them.

    ``clock`` gives milliseconds since the epoch; ``sleep`` takes milliseconds and may return early where the turn was
    aborted; ``aborted`` says whether it was; ``tails`` gives the random end of an id; ``publish`` hears what the turn
    does.
    """

    clock: Callable[[], int]
    sleep: Callable[[int], object]
    tails: Callable[[], str]
    aborted: Callable[[], bool] = lambda: False
    publish: Callable[[Status], object] = lambda status: None
