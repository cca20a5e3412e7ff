"""What happens next, said once: inputs after what people reported (tests/data/reports), and what equal facts become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain.bodies import body
from sessions_app.domain.lowering.replay import opens_with_task, replayed
from sessions_app.domain.lowering.summary_request import summary_request
from sessions_app.domain.model import Session
from sessions_app.domain.rules import Facts, find_all
from sessions_app.domain.rules.context import Context
from sessions_app.domain.scan import as_document, scan
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import parse_target
from tests.factories.sessions import (
    CHAT,
    CLAUDE,
    V1,
    V2,
    codes,
    data_of,
    finish,
    found,
    message_ids,
    part_ids,
    planned,
    repaired,
    scanned,
    start,
    text,
    tool,
)
from tests.paths import REPORTS

ABORTED = {"name": "MessageAbortedError", "data": {"message": "aborted"}}
UNKNOWN = {"name": "UnknownError", "data": {"message": "Failed to execute statement"}}


def report(name: str) -> Session:
    return dialects.decode(rowdoc.parse_value(json.loads((REPORTS / f"{name}.json").read_text("utf-8"))))


def said(session: Session) -> list[tuple[str, str]]:
    return [(one.rule, one.severity) for one in scan(session).findings]


# A tool that ran and is not told.


def test_a_tool_that_ran_in_a_failed_answer_is_named_and_told_on_request() -> None:
    session = report("executed-tool-not-replayed")
    finding = found(session, "executed-tool-not-replayed")
    assert (finding.severity, finding.safety) == ("at-risk", "manual")
    assert finding.parts == ("prt_0002_03",) and "the model is not told" in finding.summary
    assert not planned(session, safety="lossy").operations
    after = repaired(session, choices={"executed-tool-not-replayed": "send-again"})
    error = after.message("msg_0002").error  # type: ignore[union-attr]
    assert error is not None and error["name"] == "MessageAbortedError"
    assert error["data"]["message"].startswith("UnknownError: Failed to execute statement")
    target = parse_target("anthropic-messages:anthropic/claude-sonnet-4-6", "off", after)
    assert "migrated 12 tables" in json.dumps(body(after, target).body)
    assert scan(after).health == "healthy"


@pytest.mark.parametrize(
    ("parts", "error", "severity"),
    [
        ([tool("a")], UNKNOWN, "at-risk"),
        ([tool("a", name="read")], UNKNOWN, "info"),
        ([tool("a", "error", metadata={"interrupted": True}, input={})], UNKNOWN, ""),
        ([tool("a")], ABORTED, ""),
        ([text("x")], UNKNOWN, ""),
    ],
)
def test_only_what_ran_and_is_not_sent_is_named(parts: list[Any], error: dict[str, Any], severity: str) -> None:
    session = V1().user("go").assistant(start(), *parts, error=error).user("on").decoded()
    named = [one.severity for one in scanned(session).findings if one.rule == "executed-tool-not-replayed"]
    assert named == ([severity] if severity else [])


def test_a_call_that_a_later_answer_made_again_is_told() -> None:
    history = V1().user("go").assistant(start(), tool("a"), error=UNKNOWN)
    session = history.assistant(start(), tool("b"), finish()).user("on").decoded()
    assert "executed-tool-not-replayed" not in codes(session)


def test_what_lies_behind_a_compaction_is_not_named() -> None:
    history = V1().user("go").assistant(start(), tool("a"), error=UNKNOWN).user({"type": "compaction", "auto": False})
    session = history.assistant(start(), text("s"), finish("stop"), summary=True, mode="compaction").decoded()
    assert "executed-tool-not-replayed" not in codes(session)


# A compaction that is pending.


def test_a_pending_compaction_is_told_and_ended_by_taking_the_half_summary_away() -> None:
    session = report("pending-compaction")
    document = as_document(session, scan(session))
    assert document["opens_with"] == "compaction"
    assert {one["opens_with"] for one in document["verdicts"].values()} == {"compaction"}
    after = repaired(session, safety="safe")
    assert message_ids(after) == ["msg_0001", "msg_0002"] and opens_with_task(after) is None
    assert scan(after).health == "healthy" and "opens_with" not in as_document(after, scan(after))


def test_keeping_the_half_summary_is_a_choice_and_ends_the_compaction_too() -> None:
    after = repaired(report("pending-compaction"), choices={"summary-unfinished": "finish"})
    message = after.message("msg_0004")
    assert message is not None and message.data["finish"] == "error" and opens_with_task(after) is None
    assert message in replayed(after)


def test_a_v2_session_has_no_summary_request_of_this_form() -> None:
    with pytest.raises(LoweringError, match="Only opencode's V1 client"):
        summary_request(V2().user("go").decoded())


def half(*more: Any, **columns: Any) -> Session:
    history = V1(CHAT, **columns).user("long work").assistant(start(), text("much"), finish("stop"))
    history = history.user({"type": "compaction", "auto": True})
    history = history.assistant(start(), text("half"), summary=True, mode="compaction", error=ABORTED)
    for role, parts, data in more:
        history = getattr(history, role)(*parts, **data)
    return history.decoded()


@pytest.mark.parametrize(
    ("more", "columns"),
    [
        ([("user", ["on"], {}), ("assistant", [start(), text("built on it"), finish("stop")], {})], {}),
        ([("user", [{"type": "compaction", "auto": True, "tail_start_id": "msg_0003"}], {})], {}),
        ([("assistant", [start(), text("again")], {"summary": True, "parentID": "msg_0003", "error": ABORTED})], {}),
        ([], {"revert": {"messageID": "msg_0004"}}),
    ],
)
def test_a_half_summary_that_something_needs_stays(more: list[Any], columns: dict[str, Any]) -> None:
    session = half(*more, **columns)
    first = next(one for one in scanned(session).findings if one.rule == "summary-unfinished")
    assert [choice.name for choice in first.choices] == ["finish", "remove"]
    assert "msg_0004" in message_ids(repaired(session, safety="safe"))


def test_a_prompt_behind_a_half_summary_is_kept_when_it_goes() -> None:
    assert message_ids(repaired(half(("user", ["on"], {})), safety="safe")) == ["msg_0001", "msg_0002", "msg_0005"]


# Nothing at risk that nothing clears.


def test_leftovers_that_are_never_sent_are_info() -> None:
    assert said(report("leftovers-behind-compaction")) == [("failed-attempt-leftovers", "info")]
    failed = V1().user("go").assistant(start(), text("hal"), start(), text("whole"), error=UNKNOWN).user("on")
    assert found(failed.decoded(), "failed-attempt-leftovers").severity == "info"


def test_once_the_half_text_beside_what_ran_is_gone_nothing_is_at_risk() -> None:
    session = (
        V1().user("go").assistant(start(), text("hal"), tool("a"), start(), text("whole"), finish("stop")).decoded()
    )
    assert scanned(session).health == "at-risk"
    after = repaired(session, choices={"failed-attempt-leftovers": "discard-text"})
    assert scanned(after).health == "healthy" and data_of(after, "prt_0002_03")["callID"] == "a"


def overflown() -> Session:
    history = V1()
    for number in range(4):
        history = history.user(f"q{number}").assistant(start(), tool(f"c{number}", output="x" * 9_000), finish("stop"))
    error = {"name": "APIError", "data": {"message": "prompt is too long: 225981 tokens > 200000 maximum"}}
    return history.user("on").assistant(error=error).decoded()


def test_an_overflow_that_was_repaired_goes_and_comes_back_with_the_undo() -> None:
    session = overflown()
    assert found(session, "context-overflow").choices[0].name == "compact"
    after = repaired(session, choices={"context-overflow": "compact"})
    assert "context-overflow" not in codes(after)


def test_outputs_that_the_client_compacted_before_the_refusal_are_no_repair_of_it() -> None:
    session = overflown()
    old = session.messages[1]
    (first,) = old.tools()
    first.state["time"]["compacted"] = old.time_created
    assert "context-overflow" in codes(session)


# No noise.


def test_equal_facts_are_one_finding_with_a_count_and_one_repair() -> None:
    session = report("forty-aborted-calls")
    (finding,) = scan(session).findings
    assert (finding.rule, finding.severity) == ("step-boundary-lost", "info")
    assert finding.details["count"] == 39 == len(finding.parts) == len(finding.details["each"])
    after = repaired(session, rules=["step-boundary-lost"])
    assert len(part_ids(after, "msg_0002")) == len(part_ids(session, "msg_0002")) + 39


def test_a_repair_of_some_messages_leaves_equal_facts_elsewhere_alone() -> None:
    history = V1(CLAUDE)
    for number in range(3):
        history = history.user("go").assistant(start(), tool(f"f.bash:{number}"), finish())
    session = history.user("on").decoded()
    assert found(session, "call-id-charset", CLAUDE).details["count"] == 3
    wish = {"rules": ["call-id-charset"], "messages": ["msg_0004"]}
    changed = {change.key["id"] for change in planned(session, CLAUDE, **wish).changes}
    assert changed == {"prt_0004_02"}


def test_findings_that_a_user_has_to_decide_one_by_one_stay_apart() -> None:
    session = V1().user("go").assistant(start(), tool("a", "pending"), tool("b", "pending"), completed=False).decoded()
    assert sum(one.rule == "stuck-tool" for one in scanned(session).findings) == 2


def test_images_without_a_remedy_are_said_once() -> None:
    large = "iVBORw0KGgoAAAANSUhEUgAACWAAAAlgCAIAAAAAAAAA"  # the head of an image of 2400 x 2400 pixels
    images = [{"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{large}"} for _ in range(30)]
    session = V1(CLAUDE).user(text("look"), *images).decoded()
    refused = [one for one in scan(session, CLAUDE).findings if one.rule == "media-rejected"]
    assert [len(one.parts) for one in refused] == [1] * 10 + [20]
    assert not refused[-1].choices and refused[-1].details["count"] == 20


def test_the_second_id_is_free_after_the_clients_own_replacing() -> None:
    after = repaired(report("claude-in-capitals"), safety="safe")
    ids = [call.call_id.replace(".", "_") for call in after.messages[1].tools()]
    assert len(set(ids)) == 3 and scan(after).health == "healthy"


def test_a_call_kept_as_text_stands_on_lines_of_its_own() -> None:
    from sessions_app.domain.rules.operations import tool_as_text

    session = V1().user("go").assistant(start(), text("a"), tool("c"), text("b"), finish()).decoded()
    message = session.messages[1]
    kept = tool_as_text(message, next(iter(message.tools())))["text"]
    assert kept.startswith("\n[Kept as text by Suture") and kept.endswith("done\n")


def test_a_plan_made_twice_names_the_same_findings() -> None:
    session = report("forty-aborted-calls")
    keys = [one.key for one in find_all(Context(session, facts=Facts()))]
    assert keys == [one.key for one in find_all(Context(session))] and planning.plan(session).operations == ()
