"""Attempts and retries, told by the rows that are left (docs/contract/design.md#7)."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest

from sessions_app.domain import dialects
from sessions_app.domain.judging import verdict
from sessions_app.domain.planning import plan
from sessions_app.domain.processor import RetryPolicy, V2Shape
from sessions_app.domain.processor.events import (
    Failure,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepStart,
    StreamError,
    StreamFailed,
    ToolCall,
    ToolInputStart,
    ToolOutput,
    ToolResult,
)
from sessions_app.domain.processor.ports import Retrying
from sessions_app.domain.rules import Context, find_all
from tests.processor.surroundings import CHAT, MemoryStore, World, arguments, broken, call, reply, text


def test_a_text_chunk_then_a_server_error_then_a_clean_reply_leaves_the_clean_reply_alone() -> None:
    world = World([[StepStart(), *text("one"), broken()], reply(*text("two"))])

    end = world.ask()

    assert [part["text"] for part in world.store.parts("text")] == ["two"]
    assert len(world.store.parts("step-start")) == 1
    assert len(world.bodies) == 2
    assert end.failure is None
    assert "error" not in world.store.last()
    assert world.store.last()["finish"] == "stop"
    assert world.store.violations() == []


def test_a_completed_tool_call_then_a_network_error_stops_with_the_error_and_the_tool_ran_once() -> None:
    world = World([reply(*call("call_1"), reason="network_error"), reply(*text("never asked"))])

    end = world.ask()

    assert len(world.bodies) == 1
    assert world.ran == [("bash", {"command": "ls"})]
    [tool] = world.store.parts("tool")
    assert tool["state"]["status"] == "completed"
    assert tool["state"]["output"] == "ran bash"
    assert end.failure is not None
    assert world.store.last()["error"]["name"] == "APIError"
    assert "finish" not in world.store.last()
    assert not any(isinstance(status, Retrying) for status in world.statuses)
    assert world.sleeps == []


def test_a_network_error_before_any_tool_ran_is_retried() -> None:
    world = World([reply(*text("half"), reason="network_error"), reply(*text("whole"))])

    world.ask()

    assert [part["text"] for part in world.store.parts("text")] == ["whole"]


def test_reasoning_and_a_pending_tool_of_a_failed_attempt_are_gone_before_the_wait_begins() -> None:
    thinking = [ReasoningStart("r"), ReasoningDelta("r", "hmm"), ReasoningEnd("r", {"signature": "sig"})]
    failing = [StepStart(), *thinking, *arguments("call_1", "bash", '{"comm'), broken()]
    world = World([failing, reply(*call("call_1"), reason="tool-calls"), reply(*text("done"))], every=0)

    world.ask()

    assert world.seen_in_wait == [[]]
    assert world.store.parts("reasoning") == []
    [tool] = world.store.parts("tool")
    assert (tool["callID"], tool["state"]["status"]) == ("call_1", "completed")
    assert world.ran == [("bash", {"command": "ls"})]


def test_a_tool_left_pending_by_cut_arguments_is_retried_and_never_run() -> None:
    world = World([[StepStart(), *arguments("call_1", "bash", '{"command":"rm')], reply(*text("ok"))])

    world.ask()

    assert world.ran == []
    assert world.store.parts("tool") == []
    assert world.sleeps == [2000]


def test_a_failure_during_the_wait_ends_the_turn_with_the_error_and_no_leftovers() -> None:
    def fails() -> None:
        raise OSError("the machine went to sleep")

    world = World([[StepStart(), *text("one"), broken()]], on_sleep=fails)

    end = world.ask()

    assert world.store.parts() == []
    assert end.failure is not None
    assert world.store.last()["error"]["data"]["message"] == "the machine went to sleep"
    assert world.store.last()["time"]["completed"]


def test_an_abort_during_the_wait_ends_the_turn_as_aborted_without_another_call() -> None:
    world = World([[StepStart(), *text("one"), broken()], reply(*text("two"))])
    world.on_sleep = lambda: setattr(world, "aborted", True)

    world.ask()

    assert len(world.bodies) == 1
    assert world.store.parts() == []
    assert world.store.last()["error"] == {"name": "MessageAbortedError", "data": {"message": "Aborted"}}


def test_an_abort_while_a_tool_runs_closes_it_as_interrupted_and_keeps_its_input() -> None:
    class Endless(World):
        def tool(self, name: str, given: object) -> str:
            self.aborted = True
            return "too late"

    world = Endless([reply(*text("go"), *call("call_1"), reason="tool-calls")])

    world.ask()

    [tool] = world.store.parts("tool")
    assert tool["state"]["status"] == "error"
    assert tool["state"]["metadata"] == {"interrupted": True}
    assert tool["state"]["input"] == {"command": "ls"}
    assert world.store.last()["error"]["name"] == "MessageAbortedError"
    assert [part["text"] for part in world.store.parts("text")] == ["go"]
    assert world.store.violations() == []


def test_a_failure_that_is_not_retried_keeps_its_partial_parts() -> None:
    world = World([[StepStart(), *text("half a sen"), broken("invalid_request_error")]])

    world.ask()

    [part] = world.store.parts("text")
    assert part["text"] == "half a sen"
    assert part["time"]["end"]
    assert world.store.last()["error"]["data"]["isRetryable"] is False


def test_a_pending_call_of_a_failure_that_is_not_retried_is_closed() -> None:
    world = World([[StepStart(), *arguments("call_1", "bash", '{"c'), broken("invalid_request_error")]])

    world.ask()

    [tool] = world.store.parts("tool")
    assert tool["state"]["status"] == "error"
    assert tool["state"]["metadata"]["interrupted"] is True
    assert tool["state"]["input"] == {}


def test_tries_are_limited_and_the_last_attempt_stays_visible() -> None:
    failing = [[StepStart(), *text(f"try {number}"), broken()] for number in range(3)]
    world = World(failing, policy=RetryPolicy(tries=3))

    end = world.ask()

    assert world.sleeps == [2000, 4000]
    assert [status.attempt for status in world.statuses if isinstance(status, Retrying)] == [2, 3]
    assert [part["text"] for part in world.store.parts("text")] == ["try 2"]
    assert end.failure is not None and world.store.last()["error"]["name"] == "APIError"


def test_the_total_time_is_limited() -> None:
    world = World([[broken()] for _ in range(9)], policy=RetryPolicy(tries=99, total=10_000))

    world.ask()

    assert world.sleeps == [2000, 4000]


def test_a_provider_that_cannot_be_reached_is_tried_again() -> None:
    world = World([[ConnectionRefusedError("refused")], reply(*text("hello"))])

    world.ask()

    assert [part["text"] for part in world.store.parts("text")] == ["hello"]
    assert world.sleeps == [2000]


def test_a_stream_that_just_ends_was_cut() -> None:
    world = World([[StepStart(), *text("half")], reply(*text("whole"))])

    world.ask()

    assert [part["text"] for part in world.store.parts("text")] == ["whole"]


def test_a_connection_that_breaks_behind_the_end_takes_nothing_away() -> None:
    reset = StreamError(Failure("connection", "reset by peer"))
    world = World([[*reply(*text("whole")), reset]])

    end = world.ask()

    assert end.failure is None
    assert world.store.last()["finish"] == "stop"
    assert len(world.bodies) == 1


def test_a_tool_that_runs_while_the_stream_breaks_is_waited_for() -> None:
    world = World([[StepStart(), *call("call_1"), broken(), ConnectionResetError("gone")]])

    world.ask()

    assert world.ran == [("bash", {"command": "ls"})]
    assert world.store.parts("tool")[0]["state"]["status"] == "completed"
    assert "error" in world.store.last()


def test_late_events_of_a_settled_call_never_make_a_new_part() -> None:
    late = [ToolInputStart("call_1", "bash"), ToolCall("call_1", "bash", {"command": "ls"})]
    again = ToolResult("call_1", ToolOutput("other"))
    world = World([reply(*call("call_1"), *late, again, reason="tool-calls"), reply(*text("done"))])

    world.ask()

    [tool] = world.store.parts("tool")
    assert tool["state"]["output"] == "ran bash"
    assert world.ran == [("bash", {"command": "ls"})]
    assert world.store.violations() == []


def test_a_second_call_under_the_same_id_is_answered_and_does_not_spoil_the_arguments_of_the_first() -> None:
    twins = [
        ToolInputStart("call_1", "bash"),
        *arguments("call_1", "bash", '{"other":1}'),
        ToolCall("call_1", "bash", {"command": "ls"}),
        ToolCall("call_1", "bash", {"other": 1}),
    ]
    world = World([reply(*twins, reason="tool-calls"), reply(*text("done"))])

    world.ask()

    assert world.ran == [("bash", {"command": "ls"})]
    first, second = world.store.parts("tool")
    assert (first["callID"], first["state"]["status"]) == ("call_1", "completed")
    assert (second["callID"], second["state"]["status"]) == ("call_1_2", "error")
    assert second["state"]["input"] == {"other": 1}
    assert second["state"]["error"].startswith("Not run: another call of this response has the id call_1.")
    assert [one["tool_call_id"] for one in world.bodies[1]["messages"] if one["role"] == "tool"] == [
        "call_1",
        "call_1_2",
    ]
    assert world.store.violations() == []


def test_a_third_call_under_the_same_id_and_one_with_broken_arguments_are_answered_too() -> None:
    more = [
        ToolCall("call_1", "bash", {"command": "rm"}),
        ToolCall("call_1", "bash", {"command": "rm"}, "cut off", '{"command":'),
        ToolCall("call_1", "write", {"command": "ls"}),
    ]
    world = World([reply(*call("call_1"), *more, reason="tool-calls"), reply(*text("done"))])

    world.ask()

    assert [part["callID"] for part in world.store.parts("tool")] == ["call_1", "call_1_2", "call_1_3", "call_1_4"]
    assert world.ran == [("bash", {"command": "ls"})]
    assert world.store.violations() == []


def test_a_failing_tool_becomes_an_error_part_and_the_model_hears_of_it() -> None:
    world = World([reply(*call("call_1", "broken"), reason="tool-calls"), reply(*text("I see"))])

    world.ask()

    [tool] = world.store.parts("tool")
    assert (tool["state"]["status"], tool["state"]["error"]) == ("error", "disk full")
    assert world.bodies[1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "disk full",
    }


def test_arguments_that_are_no_object_are_not_run_and_their_text_is_kept() -> None:
    bad = ToolCall("call_1", "bash", None, problem="Unterminated string", raw='{"command": "l')
    world = World([reply(bad, reason="tool-calls"), reply(*text("again"))])

    world.ask()

    [tool] = world.store.parts("tool")
    assert world.ran == []
    assert tool["state"]["input"] == {}
    assert tool["state"]["metadata"] == {"raw": '{"command": "l'}
    assert "Unterminated string" in tool["state"]["error"]
    assert world.store.violations() == []


def test_two_clients_that_write_one_session_at_once_make_different_ids_that_sort_in_time() -> None:
    store = MemoryStore()
    first = World([reply(*text("first")), reply(*text("third"))], store=store, mark="a")
    second = World([reply(*text("second"))], store=store, mark="b")

    first.ask("one")
    second.now = first.now
    second.ask("two")
    first.ask("three")

    ids = [row["id"] for row in store.rows().messages]
    assert ids == sorted(ids) and len(set(ids)) == 6
    assert [part["text"] for part in store.parts("text")] == ["first", "second", "third"]
    assert store.violations() == []


def test_a_part_is_stored_as_running_before_its_tool_runs() -> None:
    class Watching(World):
        def tool(self, name: str, given: object) -> str:
            self.seen = [part["state"]["status"] for part in self.store.parts("tool")]
            return "ok"

    world = Watching([reply(*call("call_1"), reason="tool-calls"), reply(*text("done"))], every=10_000)

    world.ask()

    assert world.seen == ["running"]


def test_deltas_are_stored_together() -> None:
    world = World([reply(*text("x" * 5_000))], every=1_000)

    world.ask()

    assert [part["text"] for part in world.store.parts("text")] == ["x" * 5_000]
    assert len(world.store.batches) < 20


@pytest.mark.parametrize("generation", [2, 3])
def test_a_v2_session_keeps_the_same_rules_in_its_own_rows(generation: int) -> None:
    shape = V2Shape(generation)  # type: ignore[arg-type]
    store = MemoryStore("2.0.15")
    scripts = [
        [StepStart(), *text("one"), *arguments("call_1", "bash", '{"c'), broken()],
        reply(*text("two"), *call("call_1"), reason="tool-calls"),
        reply(*text("three")),
    ]
    world = World(scripts, store=store, shape=shape, every=0)

    world.ask()

    rows = store.rows().session_message
    made = [json.loads(row["data"]) for row in rows]
    assert [row["type"] for row in rows] == ["user", "assistant", "assistant"]
    assert [row["seq"] for row in rows] == [0, 1, 2]
    assert [item["type"] for item in made[1]["content"]] == ["text", "tool"]
    assert made[1]["content"][0]["text"] == "two"
    assert made[1]["content"][1]["state"]["status"] == "completed"
    assert made[1]["content"][1]["state"]["content"] == [{"type": "text", "text": "ran bash"}]
    assert (made[2]["finish"], made[2]["content"]) == ("stop", [{"type": "text", "text": "three"}])
    assert store.violations() == []


def test_a_v2_turn_that_failed_says_so_as_its_generation_does() -> None:
    world = World([[broken("invalid_request_error", status=400)]], store=MemoryStore("2.0.15"), shape=V2Shape())

    world.ask()

    data = json.loads(world.store.rows().session_message[-1]["data"])
    assert data["finish"] == "error"
    assert data["error"]["type"] == "invalid_request_error"
    assert data["error"]["status"] == 400
    assert data["time"]["completed"]


def test_a_stream_failure_raised_as_an_exception_counts_as_the_attempts_own() -> None:
    world = World([[StepStart(), StreamFailed(Failure("auth", "no such key", status=401)), Finish()]])

    world.ask()

    assert world.store.last()["error"]["name"] == "ProviderAuthError"
    assert world.sleeps == []


def test_files_that_the_tools_changed_are_a_patch_of_their_step() -> None:
    class Tree:
        def snapshot(self) -> str:
            return "abc123"

        def changed(self, since: str) -> list[str]:
            return ["/project/new.txt"] if since == "abc123" else []

    world = World([reply(*call("call_1"), reason="tool-calls"), reply(*text("done"))])
    dialogue = world.dialogue()

    replace(dialogue, engine=replace(dialogue.engine, tree=Tree())).ask("go")

    assert world.store.parts("patch") == [{"type": "patch", "hash": "abc123", "files": ["/project/new.txt"]}]
    assert [part["snapshot"] for part in world.store.parts("step-start")] == ["abc123", "abc123"]


@pytest.mark.parametrize("survives", range(1, 9))
def test_a_crash_at_any_write_leaves_what_the_safe_repairs_mend(survives: int) -> None:
    class Crashing(MemoryStore):
        def write(self, writes: Any) -> None:
            if len(self.batches) >= survives:
                raise SystemExit("killed")
            super().write(writes)

    scripts = [
        [StepStart(), *text("one"), *arguments("call_0", "bash", '{"c'), broken()],
        reply(*text("two"), *call("call_1"), reason="tool-calls"),
        reply(*text("three")),
    ]
    world = World(scripts, store=Crashing(), every=0)
    with contextlib.suppress(SystemExit):
        world.ask()
    rows = world.store.rows()

    session = dialects.decode(rows)
    repaired = dialects.decode(dialects.apply(rows, plan(session, target=CHAT).changes))

    left = {finding.rule for finding in find_all(Context(repaired, CHAT))}
    assert not left & {"stuck-tool", "open-turn", "failed-attempt-leftovers", "duplicate-call-id-in-message"}
    assert verdict(repaired, CHAT).accepted
