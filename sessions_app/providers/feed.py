"""A stream and the tools it calls, merged into one sequence of events by threads.

The stream is read ahead by a bounded number of events only: where storing is slow the reader waits, and with it the
provider.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sessions_app.domain.processor.events import (
    Event,
    Failure,
    Finish,
    StreamError,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolResult,
)
from sessions_app.domain.processor.failures import failure_of
from sessions_app.domain.processor.ports import Execute

_LOOK = 1.0
"""Seconds after which a wait looks whether it was cancelled: not every cancel can wake it."""


class Source(Protocol):
    """Events of a response; ``close`` may be called from another thread while the iteration waits."""

    def __iter__(self) -> Iterator[Event]: ...

    def close(self) -> None: ...


class Cancel:
    """Set once, from any thread; whoever waits is woken."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._hooks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def __call__(self) -> bool:
        """Whether it was set."""
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            hooks = list(self._hooks)
        for hook in hooks:
            hook()

    def sleep(self, milliseconds: int) -> None:
        """Wait, unless and until it is set."""
        self._event.wait(milliseconds / 1000)

    def on(self, hook: Callable[[], None]) -> None:
        """Have ``hook`` called when it is set."""
        with self._lock:
            self._hooks.append(hook)

    def off(self, hook: Callable[[], None]) -> None:
        with self._lock:
            self._hooks.remove(hook)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: to connect, for the headers and between two pieces of a response, for a whole response, for one tool
    call. ``ahead`` is how many events may wait to be stored."""

    connect: float = 15
    silence: float = 120
    response: float = 1_800
    tool: float = 600
    ahead: int = 256


class LiveFeed:
    """Implements ``processor.ports.Feed`` over a source and an executor."""

    def __init__(self, source: Source, execute: Execute | None, limits: Limits, cancel: Cancel) -> None:
        self._source, self._execute, self._limits, self._cancel = source, execute, limits, cancel
        self._wake = threading.Condition()
        self._events: deque[Event] = deque()
        self._due: dict[str, float] = {}
        self._closed = self._over = False
        self._ends = time.monotonic() + limits.response
        cancel.on(self._woken)
        threading.Thread(target=self._read, name="suture-stream", daemon=True).start()

    def __iter__(self) -> Iterator[Event]:
        while (event := self._next()) is not None:
            yield event

    def start(self, call: ToolCall) -> None:
        with self._wake:
            self._due[call.call_id] = time.monotonic() + self._limits.tool
        threading.Thread(target=self._run, args=(call,), name=f"suture-tool-{call.name}", daemon=True).start()

    def close(self) -> None:
        self._cancel.off(self._woken)
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._source.close()

    def _next(self) -> Event | None:
        """The next event; None when the stream is over and no tool runs, or when the turn was cancelled."""
        with self._wake:
            while True:
                if self._cancel():
                    return None
                if self._events:
                    event = self._events.popleft()
                    self._wake.notify_all()
                    return event
                now = time.monotonic()
                late = next((call_id for call_id, due in self._due.items() if due <= now), None)
                if late is not None:
                    del self._due[late]
                    return ToolError(late, f"The tool did not end within {self._limits.tool:g} seconds.")
                if self._over and not self._due:
                    return None
                if not self._over and now >= self._ends:
                    self._over = True
                    return StreamError(Failure("timeout", f"The response took over {self._limits.response:g} seconds."))
                waits = [*self._due.values(), *(() if self._over else (self._ends,))]
                self._wake.wait(min(_LOOK, max(0.0, min(waits) - now)))

    def _read(self) -> None:
        last: Event = Finish()
        try:
            for event in self._source:
                if not self._put(event):
                    return
        except Exception as problem:
            last = StreamError(failure_of(problem))
        self._put(last, over=True)

    def _put(self, event: Event, over: bool = False) -> bool:
        """Hand a piece of the stream over, waiting for room; False = nobody wants it any more."""
        with self._wake:
            while len(self._events) >= self._limits.ahead and not (self._closed or self._over):
                self._wake.wait()
            if self._closed or self._over:
                return False
            self._events.append(event)
            self._over = over
            self._wake.notify_all()
            return True

    def _run(self, call: ToolCall) -> None:
        answer: Event
        try:
            if self._execute is None:
                raise LookupError(f"There is no tool {call.name} here.")
            made = self._execute(call.name, call.input)
            answer = ToolResult(call.call_id, made if isinstance(made, ToolOutput) else ToolOutput(str(made)))
        except Exception as problem:
            answer = ToolError(call.call_id, str(problem) or type(problem).__name__)
        with self._wake:
            if self._due.pop(call.call_id, None) is not None and not self._closed:
                self._events.append(answer)  # over the limit if need be: the reader may be waiting for room
            self._wake.notify_all()

    def _woken(self) -> None:
        with self._wake:
            self._wake.notify_all()
