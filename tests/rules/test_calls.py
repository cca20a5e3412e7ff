"""Calls: twins, reused ids, calls without a result, calls that never ended (docs/contract/rules.md#2.1, #2.4, #2.11,
#2.24)."""

from __future__ import annotations

import pytest

from sessions_app.domain.dialects import applied
from sessions_app.domain.lowering import lower
from sessions_app.domain.planning import plan
from sessions_app.domain.wire.target import make_target
from sessions_app.domain.wish import DEDUPE, DROP
from tests.factories.sessions import (
    CHAT,
    CLAUDE,
    CLAUDE_THINKING,
    KIMI,
    V1,
    V2,
    aborted,
    codes,
    data_of,
    finish,
    found,
    part_ids,
    planned,
    repaired,
    scanned,
    start,
    text,
    tool,
)


def test_two_completed_twins_with_different_output_both_stay_and_the_later_is_renamed() -> None:
    session = (
        V1(KIMI)
        .user("go")
        .assistant(start(), tool("c:1", output="A"), tool("c:1", output="B"), finish())
        .user("on")
        .decoded()
    )
    assert {"duplicate-call-id-in-message", "tool-ran-twice"} <= codes(session, KIMI)
    after = repaired(session, KIMI, safety="safe")
    assert data_of(after, "prt_0002_02")["callID"] == "c:1"
    assert data_of(after, "prt_0002_03")["callID"] != "c:1"
    assert [data_of(after, part)["state"]["output"] for part in ("prt_0002_02", "prt_0002_03")] == ["A", "B"]
    assert scanned(after, KIMI).health == "healthy"


def test_two_completed_twins_with_different_input_are_two_runs() -> None:
    session = (
        V1(KIMI).user("go").assistant(start(), tool("c", input={"a": 1}), tool("c", input={"a": 2}), finish()).decoded()
    )
    assert "tool-ran-twice" not in codes(session, KIMI)
    after = repaired(session, KIMI, safety="safe")
    assert len(list(after.messages[1].tools())) == 2 and "tool-ran-twice" not in codes(after, KIMI)


def test_two_equal_completed_twins_become_one() -> None:
    session = V1(KIMI).user("go").assistant(start(), tool("c"), tool("c"), finish()).decoded()
    assert part_ids(repaired(session, KIMI, safety="safe"), "msg_0002") == [
        "prt_0002_01",
        "prt_0002_02",
        "prt_0002_04",
    ]


def test_of_three_twins_the_most_informative_stays() -> None:
    session = (
        V1(KIMI).user("go").assistant(start(), tool("c", "pending"), tool("c", "error"), tool("c"), finish()).decoded()
    )
    after = repaired(session, KIMI, safety="safe")
    assert [one.status for one in after.messages[1].tools()] == ["completed"]


def test_keeping_the_aborted_twin_and_deleting_the_completed_one_is_wrong() -> None:
    session = V1(KIMI).user("go").assistant(start(), aborted("c"), tool("c"), finish()).decoded()
    (kept,) = repaired(session, KIMI, safety="safe").messages[1].tools()
    assert kept.status == "completed" and kept.id == "prt_0002_03"


def test_the_winner_takes_the_first_place_where_something_is_sent_in_between() -> None:
    session = V1(KIMI).user("go").assistant(start(), aborted("c"), "said", tool("c"), finish()).decoded()
    after = repaired(session, KIMI, safety="safe")
    assert [part.kind for part in after.messages[1].parts] == ["step-start", "tool", "text", "step-finish"]
    assert lower(after, KIMI, repairs=False).messages == lower(session, KIMI, repairs=True).messages


def test_the_stored_dedupe_sends_what_the_lowered_dedupe_sends() -> None:
    session = (
        V1(CLAUDE).user("go").assistant(start(), "a", tool("c", "error"), tool("d"), tool("c"), finish()).decoded()
    )
    after = applied(session, plan(session, CLAUDE, DEDUPE).changes)
    assert lower(after, CLAUDE, repairs=False).messages == lower(session, CLAUDE, repairs=True).messages


def test_a_call_id_with_two_results_in_two_steps_of_a_retry_is_renamed_for_claude() -> None:
    session = (
        V1(CLAUDE)
        .user("go")
        .assistant(start(), tool("c", output="A"), finish(), start(), tool("c", output="B"), finish())
        .user("on")
        .decoded()
    )
    assert scanned(session, CLAUDE).health == "blocked"
    assert scanned(repaired(session, CLAUDE, safety="safe"), CLAUDE).health == "healthy"


def reused(target=CLAUDE):
    session = V1(target).user("a").assistant(start(), tool("t:0", output="A"), finish(), target=KIMI)
    return session.user("b").assistant(start(), tool("t:0", output="B"), finish(), target=KIMI).user("c").decoded()


def test_an_id_used_again_in_a_later_turn_is_renamed_for_claude_and_the_first_keeps_it() -> None:
    session = reused()
    assert found(session, "duplicate-call-id-across-turns", CLAUDE).severity == "blocked"
    after = repaired(session, CLAUDE, safety="safe")
    assert data_of(after, "prt_0002_02")["callID"] == "t:0"
    assert data_of(after, "prt_0004_02")["callID"] == "t_0_2"
    assert scanned(after, CLAUDE).health != "blocked"


def test_an_id_used_again_is_info_where_the_target_takes_it() -> None:
    finding = found(reused(CHAT), "duplicate-call-id-across-turns", CHAT)
    assert finding.severity == "info" and "Anthropic" in finding.details["harmful_for"]


def test_dropping_every_later_use_of_an_id_is_wrong() -> None:
    after = repaired(reused(), CLAUDE)
    assert [one.state["output"] for message in after.messages for one in message.tools()] == ["A", "B"]


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "Claude-Sonnet-4-5"])
def test_a_renamed_id_differs_from_every_other_after_the_clients_scrub(model: str) -> None:
    target = make_target("anthropic", model)
    history = V1(target).user("a").assistant(start(), tool("x.1"), tool("x_1_2"), finish(), target=KIMI)
    session = history.assistant(start(), tool("x:1"), finish(), target=KIMI).user("b").decoded()
    assert scanned(session, target).health == "blocked"
    after = repaired(session, target, safety="safe")
    assert scanned(after, target).health != "blocked"
    assert len({one.call_id for message in after.messages for one in message.tools()}) == 3


@pytest.mark.parametrize("generation", [1, 2, 3])
@pytest.mark.parametrize("status", ["open", "running"])
def test_an_open_v2_call_blocks_nothing_and_is_closed_on_request(generation: int, status: str) -> None:
    """Its server ends it before it sends (docs/contract/v2-server.md#order.2)."""
    history = V2(CLAUDE, generation)
    wanted = {"open": "pending" if generation == 1 else "streaming"}.get(status, status)
    session = history.user("go").assistant(history.tool("toolu_1", wanted)).user("on").decoded()
    assert not session.faults
    assert scanned(session, CLAUDE).health == "healthy"
    assert "orphan-tool-use" not in codes(session, CLAUDE)
    assert found(session, "stuck-tool", CLAUDE).severity == "info"
    assert not planned(session, CLAUDE).operations
    after = repaired(session, CLAUDE, safety="safe", rules=["stuck-tool"])
    state = data_of(after, "msg_0002#0")["state"]
    assert state["status"] == "error" and isinstance(state["input"], dict)
    assert "outcome unknown" in state["error"]["message"]
    assert not after.faults and scanned(after, CLAUDE).health == "healthy"


def test_a_v2_call_whose_arguments_were_complete_keeps_them() -> None:
    history = V2(CLAUDE, 3)
    session = history.user("go").assistant(history.tool("t", "streaming", input='{"command":"ls"}')).decoded()
    after = repaired(session, CLAUDE, rules=["stuck-tool"])
    assert data_of(after, "msg_0002#0")["state"]["input"] == {"command": "ls"}


@pytest.mark.parametrize("generation", [1, 2, 3])
@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        (("completed", "open"), {"duplicate-call-id-in-message", "stuck-tool"}),
        (("open", "completed"), {"duplicate-call-id-in-message", "stuck-tool", "orphan-tool-use"}),
        (("open", "open"), {"duplicate-call-id-in-message", "stuck-tool", "orphan-tool-use"}),
    ],
)
def test_of_twins_the_last_one_is_ended_and_an_open_first_one_stays(
    generation: int, statuses: tuple[str, str], said: set[str]
) -> None:
    history = V2(CLAUDE, generation)
    names = {"open": "pending" if generation == 1 else "streaming"}
    twins = [history.tool("t", names.get(status, status)) for status in statuses]
    session = history.user("go").assistant(*twins).decoded()
    assert scanned(session, CLAUDE).health == "blocked"
    assert said <= codes(session, CLAUDE)
    assert ("orphan-tool-use" in codes(session, CLAUDE)) is ("orphan-tool-use" in said)
    assert scanned(repaired(session, CLAUDE, safety="safe"), CLAUDE).health == "healthy"


def test_a_running_call_keeps_its_input_and_partial_output() -> None:
    running = tool("c", "running", metadata={"output": "half"})
    session = V1().user("go").assistant(start(), running, completed=False).decoded()
    state = data_of(repaired(session, safety="safe"), "prt_0002_02")["state"]
    assert state["input"] == {"command": "ls"} and state["metadata"]["output"] == "half"
    assert state["status"] == "error" and "output" not in state


def test_no_repair_marks_a_call_completed() -> None:
    session = V1().user("go").assistant(start(), tool("a", "pending"), tool("b", "running"), completed=False).decoded()
    assert {one.status for one in repaired(session).messages[1].tools()} == {"error"}


def test_a_repeated_command_is_reported_and_both_stay() -> None:
    session = V1().user("go").assistant(start(), tool("a"), finish(), start(), tool("b"), finish()).decoded()
    finding = found(session, "tool-ran-twice")
    assert finding.safety == "manual" and not finding.choices
    assert not planned(session, safety="lossy", rules=["tool-ran-twice"]).operations


def test_a_repeated_read_can_be_removed_on_request() -> None:
    session = V1().user("go").assistant(start(), tool("a", name="read"), tool("b", name="read"), finish()).decoded()
    after = repaired(session, choices={"tool-ran-twice": "remove-repeat"})
    assert [one.call_id for one in after.messages[1].tools()] == ["a"]


def test_two_reads_in_different_turns_are_both_real() -> None:
    history = V1().user("a").assistant(start(), tool("a", name="read"), finish())
    assert "tool-ran-twice" not in codes(
        history.user("b").assistant(start(), tool("b", name="read"), finish()).decoded()
    )


def test_v2_twins_are_collapsed_in_their_row() -> None:
    history = V2(CLAUDE, 3)
    session = (
        history.user("go").assistant(history.tool("t"), history.tool("t", "streaming"), history.tool("u")).decoded()
    )
    after = applied(session, plan(session, CLAUDE, DEDUPE).changes)
    assert [one.call_id for one in after.messages[1].tools()] == ["t", "u"]
    assert [row["id"] for row in after.rows.session_message] == [row["id"] for row in session.rows.session_message]


def test_drop_removes_the_calls_of_a_failed_turn_whose_thinking_is_not_sent() -> None:
    history = V2(CLAUDE_THINKING, 3)
    thought = {
        "type": "reasoning",
        "text": "",
        "state": {"signature": "c2ln"},
        "time": {"created": 1, "completed": 2},
    }
    failed = {"type": "provider.error", "message": "x"}
    session = history.user("go").assistant(thought, history.tool("t"), error=failed).user("on").decoded()
    finding = found(session, "thinking-lost-on-error", CLAUDE_THINKING)
    assert finding.severity == "blocked" and finding.safety == "lossy"
    assert not planned(session, CLAUDE_THINKING, rules=["thinking-lost-on-error"]).operations
    after = applied(session, plan(session, CLAUDE_THINKING, DROP).changes)
    assert [part.kind for part in after.messages[1].parts] == ["reasoning"]
    assert scanned(after, CLAUDE_THINKING).health == "healthy"


def test_drop_leaves_a_failed_turn_whose_reasoning_has_text() -> None:
    history = V2(CLAUDE, 3)
    thought = {
        "type": "reasoning",
        "text": "aloud",
        "state": {"signature": "c2ln"},
        "time": {"created": 1, "completed": 2},
    }
    session = history.user("go").assistant(thought, history.tool("t"), error={"type": "e", "message": "x"}).decoded()
    assert not plan(session, CLAUDE, DROP).operations


def test_an_executed_call_is_never_taken_out_by_a_safe_plan() -> None:
    session = V1().user("go").assistant(start(), text("half"), tool("a"), start(), text("whole"), finish()).decoded()
    assert not planned(session, safety="lossy").operations
    assert found(session, "failed-attempt-leftovers").safety == "manual"
