"""Random streams: whatever order events come in, the rows that are left keep the invariants of
docs/contract/design.md#7."""

from __future__ import annotations

import contextlib
import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import dialects
from sessions_app.domain.model import ToolPart
from sessions_app.domain.processor import RetryPolicy, V1Shape, V2Shape
from sessions_app.domain.processor.events import (
    Event,
    Failure,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
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
    ToolOutput,
    ToolResult,
    Usage,
)
from sessions_app.domain.processor.ports import Retrying
from sessions_app.domain.rules import Context, Facts, find_all
from sessions_app.domain.wire.target import make_target
from tests.processor.surroundings import CHAT, MemoryStore, World

CALLS = st.sampled_from(["call_1", "call_2", "call_3"])
KEYS = st.sampled_from(["0", "1"])
NAMES = st.sampled_from(["bash", "read", "broken"])
WORDS = st.text(alphabet="ab \n\ud83dü", max_size=4)
FAILURES = st.sampled_from(
    [
        Failure("api", "overloaded", code="overloaded_error"),
        Failure("api", "bad request", status=400),
        Failure("connection", "reset"),
        Failure("cut", "cut"),
        Failure("api", "slow", status=429, headers={"retry-after": "1"}),
    ]
)
EVENTS: st.SearchStrategy[Event | Exception] = st.one_of(
    st.builds(StepStart),
    st.builds(TextStart, KEYS),
    st.builds(TextDelta, KEYS, WORDS),
    st.builds(TextEnd, KEYS),
    st.builds(ReasoningStart, KEYS),
    st.builds(ReasoningDelta, KEYS, WORDS),
    st.builds(ReasoningEnd, KEYS),
    st.builds(ToolInputStart, CALLS, NAMES),
    st.builds(ToolInputDelta, CALLS, WORDS),
    st.builds(ToolInputEnd, CALLS),
    st.builds(ToolCall, CALLS, NAMES, st.dictionaries(st.sampled_from("xy"), st.integers(), max_size=2)),
    st.builds(ToolCall, CALLS, NAMES, st.none(), problem=st.just("not JSON"), raw=WORDS),
    st.builds(ToolResult, CALLS, st.builds(ToolOutput, WORDS)),
    st.builds(ToolError, CALLS, WORDS),
    st.builds(StreamError, FAILURES),
    st.builds(StepFinish, st.sampled_from(["stop", "tool-calls", "length", "network_error"]), st.just(Usage(1, 1))),
    st.just(Finish()),
    st.builds(StreamFailed, FAILURES),
    st.just(ConnectionResetError("reset")),
    st.just(ValueError("not JSON")),
)
SCRIPTS = st.lists(st.lists(EVENTS, max_size=14), min_size=1, max_size=5)
END: list[list[Event | Exception]] = [
    [StepStart(), TextDelta("e", "done"), StepFinish("stop", Usage(1, 1))] for _ in range(12)
]
ANTHROPIC = make_target("acme", "claude-1", "off", "anthropic-messages")


def run(scripts: list[list[Event | Exception]], store: MemoryStore, shape: V1Shape | V2Shape, abort: int) -> World:
    world = World([*scripts, *END], store=store, shape=shape, policy=RetryPolicy(tries=4), every=0)
    clock = world._clock

    def counting() -> int:
        now = clock()
        world.aborted = world.aborted or 0 < abort < now - 1_796_000_000_000
        return now

    world._clock = counting  # type: ignore[method-assign]
    world.ask()
    return world


@given(SCRIPTS, st.sampled_from([0, 0, 0, 15, 40]))
def test_any_stream_leaves_a_v1_session_that_providers_accept(
    scripts: list[list[Event | Exception]], abort: int
) -> None:
    world = run(scripts, MemoryStore(), V1Shape(), abort)

    session = dialects.decode(world.store.rows())
    for message in session.history("opencode-v1"):
        tools = [part for part in message.parts if isinstance(part, ToolPart)]
        assert max(Counter(tool.call_id for tool in tools).values(), default=0) <= 1
        assert all(tool.status in ("completed", "error") for tool in tools)
        if message.is_assistant:
            assert message.completed_at is not None
            assert sum(part.kind == "step-start" for part in message.parts) <= 1
            assert bool(message.error) != bool(message.data.get("finish"))
    assert len(world.ran) <= sum(len([*message.tools()]) for message in session.history("opencode-v1"))
    assert not session.faults
    assert world.store.violations(CHAT) == []
    assert world.store.violations(ANTHROPIC) == []
    leftovers = {"failed-attempt-leftovers", "stuck-tool", "open-turn", "duplicate-call-id-in-message"}
    found = find_all(Context(session, CHAT, facts=Facts()))
    assert not leftovers & {finding.rule for finding in found}


@given(SCRIPTS, st.sampled_from([2, 3]), st.sampled_from([0, 0, 25]))
def test_any_stream_leaves_a_v2_session_that_providers_accept(
    scripts: list[list[Event | Exception]], generation: int, abort: int
) -> None:
    world = run(scripts, MemoryStore("2.0.15"), V2Shape(generation), abort)  # type: ignore[arg-type]

    for row in world.store.rows().session_message[1:]:
        data = json.loads(row["data"])
        items = [item for item in data["content"] if item["type"] == "tool"]
        assert len({item["id"] for item in items}) == len(items)
        assert all(item["state"]["status"] in ("completed", "error") for item in items)
        assert data["time"]["completed"]
    assert not dialects.decode(world.store.rows(), generation).faults
    assert world.store.violations(CHAT) == []


@given(SCRIPTS)
def test_what_was_published_is_what_was_waited_for(scripts: list[list[Event | Exception]]) -> None:
    world = run(scripts, MemoryStore(), V1Shape(), 0)

    assert sum(isinstance(status, Retrying) for status in world.statuses) == len(world.sleeps)
    for parts in world.seen_in_wait:
        for part in parts:
            assert part["type"] != "tool" or part["state"]["status"] in ("completed", "error")


@given(SCRIPTS, st.integers(min_value=1, max_value=60))
def test_a_crash_at_any_write_leaves_a_history_that_the_client_can_go_on_from(
    scripts: list[list[Event | Exception]], survives: int
) -> None:
    class Crashing(MemoryStore):
        def write(self, writes: object) -> None:
            if len(self.batches) >= survives:
                raise SystemExit("killed")
            super().write(writes)  # type: ignore[arg-type]

    store = Crashing()
    with contextlib.suppress(SystemExit):
        run(scripts, store, V1Shape(), 0)

    assert not dialects.decode(store.rows()).faults
    assert store.violations(CHAT) == []
