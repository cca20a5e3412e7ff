"""A session in memory, a scripted provider and a clock that only sleeping moves: what the engine is tested with."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain import dialects
from sessions_app.domain.bodies import body
from sessions_app.domain.model import SessionRows
from sessions_app.domain.processor import (
    Dialogue,
    Engine,
    RetryPolicy,
    RowDrop,
    RowPut,
    Speaker,
    Spent,
    Surroundings,
    ToolOutput,
    V1Shape,
    Write,
)
from sessions_app.domain.processor.events import (
    Event,
    Failure,
    Finish,
    StepFinish,
    StepStart,
    StreamError,
    StreamFailed,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
    Usage,
)
from sessions_app.domain.processor.ports import Status
from sessions_app.domain.processor.shapes import Shape
from sessions_app.domain.protocols import judge
from sessions_app.domain.wire.target import Target, make_target

CHAT = make_target("acme", "model-1", protocol="openai-chat")
START = 1_796_000_000_000


class MemoryStore:
    """Rows in dictionaries; writes and drops are counted, and a row that is put twice has to be the same row."""

    def __init__(self, version: str = "1.18.33") -> None:
        self.tables: dict[str, dict[str, dict[str, Any]]] = {"message": {}, "part": {}, "session_message": {}}
        self.version = version
        self.spent: list[Spent] = []
        self.batches: list[Sequence[Write]] = []

    def rows(self) -> SessionRows:
        return SessionRows(
            {"id": "ses_1", "version": self.version},
            sorted(self.tables["message"].values(), key=lambda row: (row["time_created"], row["id"])),
            sorted(self.tables["part"].values(), key=lambda row: (row["message_id"], row["id"])),
            sorted(self.tables["session_message"].values(), key=lambda row: row["seq"]),
        )

    def write(self, writes: Sequence[Write]) -> None:
        self.batches.append(writes)
        for write in writes:
            if isinstance(write, RowPut):
                self.tables[write.table][write.id] = write.row
            elif isinstance(write, RowDrop):
                del self.tables[write.table][write.id]
            else:
                self.spent.append(write)

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(row["data"]) for row in self.rows().messages]

    def last(self) -> dict[str, Any]:
        return self.messages()[-1]

    def parts(self, kind: str = "") -> list[dict[str, Any]]:
        """Data of the parts of the assistants' messages, in stored order."""
        assistants = {row["id"] for row in self.rows().messages if '"role":"assistant"' in row["data"]}
        found = [json.loads(row["data"]) for row in self.rows().parts if row["message_id"] in assistants]
        return [part for part in found if kind in ("", part["type"])]

    def violations(self, target: Target = CHAT) -> list[str]:
        """What the target's provider would say to the session with one more prompt, as stored."""
        session = dialects.decode(self.rows())
        verdict = judge(body(session, target, repairs=False, next_prompt="continue"), target)
        return [violation.error for violation in verdict.violations]


class ScriptedFeed:
    """The events of a script, each tool's result right behind its start; ``raise`` in a script is an exception in place
    of an event."""

    def __init__(self, script: Sequence[Event | Exception], tools: Callable[..., Any] | None) -> None:
        self._script, self._tools = script, tools
        self._results: deque[Event] = deque()
        self.closed = False

    def __iter__(self) -> Iterator[Event]:
        for event in self._script:
            yield from self._drained()
            if isinstance(event, Exception):
                yield StreamError(event.failure) if isinstance(event, StreamFailed) else _raised(event)
            else:
                yield event
        yield from self._drained()
        yield Finish()
        yield from self._drained()

    def _drained(self) -> Iterator[Event]:
        while self._results:
            yield self._results.popleft()

    def start(self, call: ToolCall) -> None:
        try:
            assert self._tools is not None
            answer = self._tools(call.name, call.input)
        except Exception as problem:
            self._results.append(ToolError(call.call_id, str(problem)))
            return
        result = answer if isinstance(answer, ToolOutput) else ToolOutput(answer)
        self._results.append(ToolResult(call.call_id, result))

    def close(self) -> None:
        self.closed = True


def _raised(problem: Exception) -> Event:
    raise problem


@dataclass
class World:
    """A dialogue with everything around it that a test may look at."""

    scripts: list[Sequence[Event | Exception]]
    store: MemoryStore = field(default_factory=MemoryStore)
    shape: Shape = field(default_factory=V1Shape)
    target: Target = CHAT
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    now: int = START
    aborted: bool = False
    every: int = 250
    on_sleep: Callable[[], object] = lambda: None
    bodies: list[Any] = field(default_factory=list)
    sleeps: list[int] = field(default_factory=list)
    ran: list[tuple[str, Any]] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    feeds: list[ScriptedFeed] = field(default_factory=list)
    seen_in_wait: list[list[dict[str, Any]]] = field(default_factory=list)
    tails: Iterator[int] = field(default_factory=lambda: itertools.count())
    mark: str = "a"

    def dialogue(self) -> Dialogue:
        around = Surroundings(
            clock=self._clock,
            sleep=self._sleep,
            tails=lambda: f"{self.mark}{next(self.tails):013d}",
            aborted=lambda: self.aborted,
            publish=self.statuses.append,
        )
        engine = Engine(self.store, self._connect, around, self.policy, every=self.every)
        speaker = Speaker(self.target.provider, self.target.model)
        return Dialogue(engine, self.shape, self.target, speaker)

    def ask(self, text: str = "do it") -> Any:
        return self.dialogue().ask(text)

    def tool(self, name: str, given: Any) -> ToolOutput | str:
        self.ran.append((name, given))
        if name == "broken":
            raise RuntimeError("disk full")
        return ToolOutput(f"ran {name}", title=name)

    def _clock(self) -> int:
        self.now += 1
        return self.now

    def _sleep(self, wait: int) -> None:
        self.sleeps.append(wait)
        if isinstance(self.store, MemoryStore):
            self.seen_in_wait.append(self.store.parts())
        self.now += wait
        self.on_sleep()

    def _connect(self, request: Any) -> ScriptedFeed:
        self.bodies.append(request)
        script = self.scripts.pop(0)
        if script and isinstance(script[0], ConnectionRefusedError):
            raise script[0]
        self.feeds.append(ScriptedFeed(script, self.tool))
        return self.feeds[-1]


def text(words: str, key: str = "t") -> list[Event]:
    return [TextStart(key), *(TextDelta(key, word) for word in words), TextEnd(key)]


def arguments(call_id: str, name: str, given: str = '{"command":"ls"}') -> list[Event]:
    return [ToolInputStart(call_id, name), ToolInputDelta(call_id, given), ToolInputEnd(call_id)]


def call(call_id: str, name: str = "bash", given: Any = None) -> list[Event]:
    given = {"command": "ls"} if given is None else given
    return [*arguments(call_id, name, json.dumps(given)), ToolCall(call_id, name, given)]


def reply(*events: Event, reason: str = "stop") -> list[Event]:
    return [StepStart(), *events, StepFinish(reason, Usage(10, 5))]


def broken(code: str = "server_error", **fields: Any) -> StreamFailed:
    return StreamFailed(Failure("api", f"The server had an error: {code}", code=code, **fields))
