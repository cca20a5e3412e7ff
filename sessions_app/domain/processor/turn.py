"""Running a turn: a step's attempts with their retries, and steps until the model calls no more tools
(docs/contract/design.md#7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .events import Failure, Patched, StepStart
from .failures import ABORT, CUT, failure_of
from .items import Draft
from .machine import Processor
from .ports import Busy, Connect, Feed, Idle, RequestBody, Retrying, Surroundings, TurnStore
from .retry import USUAL, RetryPolicy


class WorkTree(Protocol):
    """Snapshots of the files that the tools work on."""

    def snapshot(self) -> str:
        """Names the present state, "" = none is kept."""

    def changed(self, since: str) -> Iterable[str]:
        """Files that differ from that snapshot."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Runs steps. ``every`` is how long (milliseconds) pieces of text may wait to be stored: they are written together,
    not each."""

    store: TurnStore
    connect: Connect
    around: Surroundings
    policy: RetryPolicy = USUAL
    tree: WorkTree | None = None
    every: int = 250

    def step(self, processor: Processor, body: RequestBody) -> Failure | None:
        """Have one response made, whatever number of attempts that takes, and stored; returns what it failed with."""
        started, tried = self.around.clock(), 0
        self._flush(processor)
        while True:
            tried += 1
            self._attempt(processor, body)
            failure = processor.failure
            if failure is None or not self._again(processor, failure, started, tried):
                break
        processor.complete(self.around.clock())
        self._flush(processor)
        return processor.failure

    def _again(self, processor: Processor, failure: Failure, started: int, tried: int) -> bool:
        """Whether another attempt follows: this one is taken out of the store then, and waited for."""
        now = self.around.clock()
        wait = None if processor.executed else self.policy.wait(failure, tried, started, now)
        if wait is None:
            return False
        if self.around.aborted():
            processor.failure = ABORT
            return False
        processor.discard(now)
        self._flush(processor)
        self.around.publish(Retrying(tried + 1, failure.message, now + wait))
        try:
            self.around.sleep(wait)
        except Exception as problem:
            processor.fail(failure_of(problem))
            return False
        if self.around.aborted():
            processor.fail(ABORT)
            return False
        return True

    def _attempt(self, processor: Processor, body: RequestBody) -> None:
        clock = self.around.clock
        if self.around.aborted():
            processor.fail(ABORT)
            return
        try:
            feed = self.connect(body)
        except Exception as problem:
            processor.fail(failure_of(problem))
            return
        try:
            snapshot = self.tree.snapshot() if self.tree is not None else ""
            processor.feed(StepStart(snapshot), clock())
            self._consume(processor, feed)
            if self.tree is not None and snapshot and processor.executed:
                files = tuple(self.tree.changed(snapshot))
                if files:
                    processor.feed(Patched(snapshot, files), clock())
        finally:
            feed.close()

    def _consume(self, processor: Processor, feed: Feed) -> None:
        """Until the response is over and its tools have ended. A tool that runs is waited for also where the stream
        broke: what it did is done, and its result is the only record of it."""
        clock, due = self.around.clock, self.around.clock() + self.every
        events = iter(feed)
        while not (processor.ended and not processor.running):
            try:
                event = next(events, None)
            except Exception as problem:  # the stream's own; storing is outside of this
                processor.fail(failure_of(problem))
                event = None
            if self.around.aborted():
                processor.failure = ABORT
                return
            if event is None:
                if not processor.ended:
                    processor.fail(CUT)
                return
            now = clock()
            call = processor.feed(event, now)
            if processor.urgent or now >= due:
                self._flush(processor)
                due = now + self.every
            if call is not None:
                feed.start(call)

    def _flush(self, processor: Processor) -> None:
        if processor.dirty:
            self.store.write(processor.writes(self.around.clock()))


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended: its assistant messages, and the failure it ended with."""

    messages: tuple[Draft, ...]
    failure: Failure | None = None
    exhausted: bool = False
    """The model wanted to go on, but the limit of steps was reached."""


def run_turn(
    engine: Engine,
    draft: Callable[[], Processor],
    body: Callable[[], Mapping[str, Any]],
    steps: int = 50,
) -> TurnEnd:
    """Steps until the model is done, one assistant message each. ``draft`` begins the next message, ``body`` makes the
    request out of what is stored by then."""
    made: list[Draft] = []
    for _ in range(steps):
        engine.around.publish(Busy())
        request = body()
        processor = draft()
        made.append(processor.draft)
        failure = engine.step(processor, request)
        if failure is not None or not _goes_on(processor.draft):
            engine.around.publish(Idle())
            return TurnEnd(tuple(made), failure)
    engine.around.publish(Idle())
    return TurnEnd(tuple(made), exhausted=True)


def _goes_on(draft: Draft) -> bool:
    """Tools that ran here have results the model has not seen."""
    return any(not item.executed for item in draft.tools()) and draft.finish not in (
        "length",
        "content-filter",
    )
