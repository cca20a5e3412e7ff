"""The turn processor's state machine: events of a stream in, writes of one assistant message out
(docs/contract/design.md#7).

It holds what the message is and which items changed since writes were last taken; it never waits, reads a clock or
calls anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from sessions_app.domain.wire.callids import plain

from . import events as ev
from .events import UNCOUNTED, Event, Failure, ToolCall, Usage
from .failures import CUT
from .items import (
    ABORTED,
    Draft,
    Item,
    PatchItem,
    ProseItem,
    ReasoningItem,
    StepFinishItem,
    StepStartItem,
    TextItem,
    ToolItem,
)
from .minting import Mint
from .shapes import Shape, Spent, Write

type Price = Callable[[Usage], float]

SECOND: Final = "Not run: another call of this response has the id {call_id}. Make this call again."
"""The answer to a call whose id is taken, in the processor's own words."""
_LONGEST_BASE = 56
"""Characters of an id that others are made from: with a number behind it, it stays within 64."""
FAILED_REASONS = frozenset({"network_error", "error"})
"""Reasons to finish that say the response broke off, whatever they are called."""


class Processor:
    """One assistant message in the making.

    ``urgent`` says that writes must be stored before the caller goes on: a call is about to run. ``failure`` is set
    once the attempt failed, ``ended`` once its stream is over. ``price`` gives a step's cost in dollars.
    """

    def __init__(self, draft: Draft, shape: Shape, mint: Mint, price: Price = lambda usage: 0) -> None:
        self.draft = draft
        self.shape = shape
        self.mint = mint
        self.price = price
        self.urgent = False
        self._message_changed = True
        self._changed: dict[Item, None] = {}
        self._dropped: list[str] = []
        self._spent: list[Spent] = []
        self._stored: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """An attempt begins."""
        self.mint.begin()
        self.failure: Failure | None = None
        self.ended = False
        self._prose: dict[tuple[type[ProseItem], str], ProseItem] = {}
        self._calls = {item.call_id: item for item in self.draft.tools()}
        self._deaf: set[str] = set()
        self._started = False
        self._snapshot = ""

    @property
    def executed(self) -> bool:
        """A tool part has left pending: the attempt may have had effects, so nothing repeats it."""
        return any(item.status != "pending" for item in self.draft.tools())

    @property
    def running(self) -> list[ToolItem]:
        """Calls that run here and have not ended."""
        return [item for item in self.draft.tools() if item.status == "running" and not item.executed]

    def feed(self, event: Event, now: int) -> ToolCall | None:
        """Take one event, at ``now`` (milliseconds). Returns the call that the caller has to run, None = none.

        Of an attempt that failed only what its tools did is still heard.
        """
        if self.failure is not None and not isinstance(event, (ev.ToolResult, ev.ToolError, ev.Patched)):
            return None
        match event:
            case ev.TextDelta():
                self._delta(TextItem, event.key, event.text, now)
            case ev.ReasoningDelta():
                self._delta(ReasoningItem, event.key, event.text, now)
            case ev.ToolInputDelta():
                self._argument(event)
            case ev.ToolCall():
                return self._call(event, now)
            case ev.ToolResult():
                self._settle(event.call_id, now, result=event.result)
            case ev.ToolError():
                self._settle(event.call_id, now, error=event.error)
            case ev.StreamError():
                # A connection that breaks behind the end of the response takes nothing away from it.
                if self.draft.finish and event.failure.kind in ("connection", "cut", "timeout"):
                    self.ended = True
                else:
                    self.fail(event.failure)
            case _:
                self._mark(event, now)
        return None

    def _mark(self, event: Event, now: int) -> None:
        """Events that open or close something."""
        match event:
            case ev.StepStart():
                self._start_step(event.snapshot, now)
            case ev.TextStart():
                self._begin_prose(TextItem, event.key, event.metadata, now)
            case ev.TextEnd():
                self._close(TextItem, event.key, event.metadata, now)
            case ev.ReasoningStart():
                self._begin_prose(ReasoningItem, event.key, event.metadata, now)
            case ev.ReasoningEnd():
                self._close(ReasoningItem, event.key, event.metadata, now)
            case ev.ToolInputStart():
                self._announce(event.call_id, event.name, now)
            case ev.Patched():
                self._add(PatchItem(self._id(now), now, now, event.hash, event.files))
            case ev.StepFinish():
                self._finish_step(event, now)
            case ev.Finish():
                self.ended = True
                if self.failure is None and not self.draft.finish:
                    self.failure = CUT

    def fail(self, failure: Failure) -> None:
        """The attempt failed; the first failure counts."""
        if self.failure is None:
            self.failure = failure
        self.ended = True

    def discard(self, now: int) -> None:
        """Before a retry: settle what is pending and take everything of this attempt out of the message
        (docs/contract/design.md#7)."""
        if self.executed:
            raise AssertionError("an attempt that executed a tool is never discarded")
        for item in self.draft.tools():
            self._interrupt(item, now)
        gone = set(self.mint.attempt)
        self.draft.items = [item for item in self.draft.items if item.id not in gone]
        self._changed = {item: None for item in self._changed if item.id not in gone}
        self._dropped += [part_id for part_id in self.mint.attempt if part_id in self._stored]
        self._stored -= gone
        self.draft.finish, self.draft.usage, self.draft.cost = "", UNCOUNTED, 0
        self.begin()

    def complete(self, now: int) -> None:
        """The turn's step is over: nothing stays open, the message says how it ended."""
        for prose in self._prose.values():
            self._end(prose, now)
        for item in self.draft.tools():
            self._interrupt(item, now)
        self.draft.completed = now
        self.draft.failure = self.failure
        if self.failure is not None:
            self.draft.finish = ""
        self._message_changed = True

    def writes(self, now: int) -> Sequence[Write]:
        """Everything that changed since the last call, in an order in which it can be stored."""
        made: list[Write] = []
        if self._dropped:
            made += self.shape.dropped(self.draft, self._dropped, now)
        if self._message_changed:
            made += self.shape.message(self.draft, now)
        if self._changed and not (self._message_changed and self.shape.dialect == "opencode-v2"):
            made += self.shape.changed(self.draft, self._changed, now)
        made += self._spent
        self._stored.update(item.id for item in self._changed)
        self._changed, self._dropped, self._spent = {}, [], []
        self._message_changed = self.urgent = False
        return made

    @property
    def dirty(self) -> bool:
        """Something changed that is not written yet."""
        return bool(self._changed or self._dropped or self._message_changed or self._spent)

    def _id(self, now: int) -> str:
        return self.mint.new("prt", now)

    def _add[T: Item](self, item: T) -> T:
        self.draft.items.append(item)
        self._changed[item] = None
        return item

    def _start_step(self, snapshot: str, now: int) -> None:
        if not self._started:
            self._started, self._snapshot = True, snapshot
            self._add(StepStartItem(self._id(now), now, now, snapshot))

    def _begin_prose(self, kind: type[ProseItem], key: str, metadata: ev.Metadata, now: int) -> None:
        """A block that nothing follows leaves no part: empty text is what providers refuse
        (docs/contract/rules.md#2.6)."""
        self._prose.pop((kind, key), None)
        if metadata:
            self._open(kind, key, metadata, now)

    def _open(self, kind: type[ProseItem], key: str, metadata: ev.Metadata, now: int) -> ProseItem:
        self._start_step("", now)
        item = self._add(kind(self._id(now), now, metadata=dict(metadata)))
        self._prose[(kind, key)] = item
        return item

    def _delta(self, kind: type[ProseItem], key: str, text: str, now: int) -> None:
        if not text:
            return
        item = self._prose.get((kind, key))
        if item is None or item.end is not None:
            item = self._open(kind, key, {}, now)
        item.pieces.append(text)
        self._changed[item] = None

    def _close(self, kind: type[ProseItem], key: str, metadata: ev.Metadata, now: int) -> None:
        item = self._prose.get((kind, key))
        if item is None and metadata:
            item = self._open(kind, key, {}, now)
        if item is not None and item.end is None:
            item.metadata |= metadata
            self._end(item, now)

    def _end(self, item: ProseItem, now: int) -> None:
        if item.end is None:
            item.end = now
            self._changed[item] = None

    def _announce(self, call_id: str, name: str, now: int) -> ToolItem | None:
        """The call's part; None where the message has one with this id already, which no late event may double."""
        if call_id in self._calls:
            self._deaf.add(call_id)
            return None
        self._start_step("", now)
        item = self._add(ToolItem(self._id(now), now, call_id=call_id, name=name))
        self._calls[call_id] = item
        return item

    def _argument(self, event: ev.ToolInputDelta) -> None:
        item = self._calls.get(event.call_id)
        if item is not None and item.status == "pending" and event.call_id not in self._deaf:
            item.raw.append(event.text)
            self._changed[item] = None

    def _call(self, event: ToolCall, now: int) -> ToolCall | None:
        item = self._calls.get(event.call_id)
        if item is None:
            item = self._announce(event.call_id, event.name, now)
        if item is None:
            return None
        if item.status != "pending":
            self._refuse(item, event, now)
            return None
        item.name, item.metadata, item.executed = event.name, dict(event.metadata), event.executed
        item.ran = now
        self._changed[item] = None
        self.urgent = True
        if event.problem:
            item.status, item.end = "error", now
            item.error, item.unparsed = f"The arguments were not valid: {event.problem}", event.raw
            return None
        item.status, item.input = "running", _object(event.input)
        return None if event.executed else event

    def _refuse(self, first: ToolItem, event: ToolCall, now: int) -> None:
        """A second call under an id that is taken: the same call told twice is nothing new, another one is answered
        under an id of its own. It is not run, since nothing tells its result from the first one's."""
        raw = event.raw if event.problem else ""
        told_again = (first.name, first.input, first.unparsed) == (event.name, _object(event.input), raw)
        if told_again or event.executed:
            return
        second = self._announce(self._free_id(event.call_id), event.name, now)
        assert second is not None
        second.status, second.ran, second.end = "error", now, now
        second.input, second.unparsed, second.metadata = _object(event.input), raw, dict(event.metadata)
        second.error = SECOND.format(call_id=event.call_id)
        self.urgent = True

    def _free_id(self, call_id: str) -> str:
        """An id made from ``call_id`` that no call of the message has, also after a client's scrub."""
        taken = {plain(held) for held in self._calls}
        made = (f"{call_id[:_LONGEST_BASE]}_{number}" for number in count(2))
        return next(one for one in made if plain(one) not in taken)

    def _settle(self, call_id: str, now: int, result: ev.ToolOutput | None = None, error: str = "") -> None:
        item = self._calls.get(call_id)
        if item is None or item.status != "running":
            return
        item.end = now
        if result is not None:
            item.status, item.result = "completed", result
        else:
            item.status, item.error = "error", error or "The tool failed without a word."
        self._changed[item] = None

    def _interrupt(self, item: ToolItem, now: int) -> None:
        """Close a call that nothing will answer any more. One that never ran has no input: its arguments were not
        complete."""
        if item.settled:
            return
        item.status, item.error, item.interrupted = "error", ABORTED, True
        item.ran = item.ran if item.ran is not None else now
        item.end = now
        self._changed[item] = None

    def _finish_step(self, event: ev.StepFinish, now: int) -> None:
        if self.draft.finish or self.failure is not None:
            return
        if event.reason in FAILED_REASONS:
            words = f"The provider ended the response with {event.reason}."
            self.fail(Failure("api", words, code="network_error"))
            return
        self._start_step("", now)
        cost = self.price(event.usage)
        self.draft.finish, self.draft.usage, self.draft.cost = event.reason, event.usage, cost
        self._add(StepFinishItem(self._id(now), now, now, event.reason, event.usage, cost, self._snapshot))
        usage = event.usage
        counts = (usage.input, usage.output, usage.reasoning, usage.cache_read, usage.cache_write)
        self._spent.append(Spent(now, cost, *counts))
        self._message_changed = True


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
