"""Every small fault of the catalogue's cases: found, repaired as it says, undone exactly, and not found again."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain.model import Session
from sessions_app.domain.repair import inverted
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import Target, parse_target
from sessions_app.domain.wish import Wish
from tests.each import for_each
from tests.paths import CASES

ALL = {path.stem[:2]: json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))}


def load(number: str, document: dict[str, Any] | None = None) -> tuple[Session, Target]:
    case = ALL[number]
    session = dialects.decode(rowdoc.parse_value(copy.deepcopy(document or case["input"])))
    return session, parse_target(case["protocol"], "auto", session)


def repair(number: str, safety: str = "lossy", **options: Any) -> Session:
    session, target = load(number)
    plan = planning.plan(session, target, Wish.of(safety=safety, **options))
    return dialects.applied(session, plan.changes)


def data(session: Session, part_id: str) -> dict[str, Any]:
    part = session.part(part_id)
    assert part is not None
    return part.data


def unchanged_but(number: str, after: Session, *ids: str) -> bool:
    """Every row but the named ones is byte for byte as it was."""
    before = load(number)[0].rows
    kept = {row["id"]: row for row in (*before.messages, *before.parts) if row["id"] not in ids}
    now = {row["id"]: row for row in (*after.rows.messages, *after.rows.parts) if row["id"] not in ids}
    return kept == now


@for_each("number", ALL)
def test_the_findings_of_a_case_are_found(number: str) -> None:
    session, target = load(number)
    assert set(ALL[number]["findings"]) <= {finding.rule for finding in scan(session, target).findings}


@for_each("number", ALL)
@pytest.mark.parametrize("safety", ["safe", "lossy"])
def test_a_second_run_finds_nothing_but_open_choices_and_undo_restores_every_row(number: str, safety: str) -> None:
    session, target = load(number)
    plan = planning.plan(session, target, Wish.of(safety=safety))
    after = dialects.applied(session, plan.changes)
    again = planning.plan(after, target, Wish.of(safety=safety))
    assert not again.operations
    assert dialects.apply(after.rows, inverted(plan.changes)) == session.rows
    if safety == "lossy":
        result = scan(after, target)
        assert result.health in ("healthy", "at-risk")
        assert all(finding.open_choice for finding in result.findings), result.findings


def test_01_the_aborted_twin_goes_and_the_completed_call_stays() -> None:
    after = repair("01", "safe")
    assert after.part("prt_0002_03") is None
    assert unchanged_but("01", after, "prt_0002_03")


def test_04_a_harmless_reused_id_is_left_alone_and_renamed_only_on_request() -> None:
    session, target = load("04")
    assert not planning.plan(session, target, Wish(safety="lossy")).operations
    after = repair("04", "safe", rules=["duplicate-call-id-across-turns"])
    assert data(after, "prt_0002_02")["callID"] == "call_0"
    assert data(after, "prt_0004_02")["callID"] == "call_0_2"
    assert data(after, "prt_0004_02")["state"]["output"] == "B"


def test_05_a_stuck_call_is_closed_as_unknown_and_its_turn_as_aborted() -> None:
    after = repair("05", "safe")
    state = data(after, "prt_0002_02")["state"]
    assert state["status"] == "error" and state["input"] == {} and "output" not in state
    assert "interrupted, outcome unknown" in state["error"]
    assert state["metadata"]["interrupted"] is True
    assert isinstance(state["time"]["start"], int) and state["time"]["end"] >= state["time"]["start"]
    message = after.message("msg_0002")
    assert message is not None and message.completed_at and message.error is not None
    assert message.error["name"] == "MessageAbortedError"


def test_05_is_left_alone_while_a_client_has_the_file_open() -> None:
    session, target = load("05")
    plan = planning.plan(session, target, held=True)
    assert not plan.operations
    assert all("client" in why for _, why in plan.skipped) and len(plan.skipped) == 2


def test_07_the_foreign_result_goes_and_the_text_stays() -> None:
    after = repair("07")
    assert after.part("prt_0003_01") is None
    assert unchanged_but("07", after, "prt_0003_01")


def test_09_the_failed_attempt_goes_and_the_retry_stays() -> None:
    after = repair("09", "safe")
    message = after.message("msg_0002")
    assert message is not None and [part.id for part in message.parts] == [
        "prt_0002_03",
        "prt_0002_04",
        "prt_0002_05",
    ]


def test_10_the_prompt_of_blanks_goes_with_its_empty_answer() -> None:
    assert [message.id for message in repair("10", "safe").messages] == ["msg_0001", "msg_0002"]


def test_12_the_message_of_unsigned_reasoning_goes() -> None:
    for safety in ("safe", "lossy"):
        assert [message.id for message in repair("12", safety).messages] == ["msg_0001", "msg_0003"]


def test_12_a_client_that_leaves_it_out_is_not_refused() -> None:
    document = copy.deepcopy(ALL["12"]["input"])
    document["session"]["version"] = "1.18.33"
    session, target = load("12", document)
    assert scan(session, target).health == "healthy"
    assert planning.plan(session, target, Wish.of(safety="safe")).operations == ()


def test_15_the_lone_reasoning_item_goes_with_its_step_mark_on_request() -> None:
    session, target = load("15")
    assert scan(session, target).health == "healthy"
    after = repair("15", rules=["reasoning-item-unpaired"])
    message = after.message("msg_0002")
    assert message is not None and [part.id for part in message.parts] == [
        "prt_0002_01",
        "prt_0002_02",
        "prt_0002_03",
    ]


def test_16_the_item_ids_of_the_turn_go_together_on_request() -> None:
    after = repair("16", rules=["item-reference-missing"])
    assert after.part("prt_0002_02") is None
    assert data(after, "prt_0002_03") == {"type": "text", "text": "Hello.", "metadata": {"openai": {}}}


def test_18_nothing_is_made_up_for_a_missing_reasoning_field() -> None:
    session, target = load("18")
    (finding,) = scan(session, target).findings
    assert finding.severity == "info" and not finding.choices and "1.18" in finding.summary


def test_19_a_call_without_signature_is_reported_and_can_become_text_both_halves_together() -> None:
    session, target = load("19")
    assert not planning.plan(session, target, Wish(safety="lossy")).operations
    after = repair("19", choices={"thought-signature-missing": "to-text"})
    assert data(after, "prt_0002_02")["type"] == "text"
    assert (
        '{"command":"ls"}' in data(after, "prt_0002_02")["text"] and "Result: a" in data(after, "prt_0002_02")["text"]
    )


def test_20_the_ignored_prompt_can_be_made_sendable_or_removed_and_the_answer_stays() -> None:
    sent = repair("20", choices={"assistant-tail": "send"})
    assert "ignored" not in data(sent, "prt_0003_01")
    removed = repair("20", choices={"assistant-tail": "remove"})
    assert [message.id for message in removed.messages] == ["msg_0001", "msg_0002"]


def big_image(size: int) -> str:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0" + bytes(size)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def test_21_only_the_image_over_the_limit_becomes_a_note() -> None:
    document = copy.deepcopy(ALL["21"]["input"])
    state = document["messages"][1]["parts"][1]["data"]["state"]
    small = {**state["attachments"][0], "url": big_image(100), "filename": "small.png"}
    state["attachments"][0] |= {"url": big_image(9_000_000), "filename": "shot.png"}
    state["attachments"].append(small)
    session, target = load("21", document)
    assert scan(session, target).health == "blocked"
    plan = planning.plan(session, target, Wish(safety="lossy"))
    after = data(dialects.applied(session, plan.changes), "prt_0002_02")
    assert after["state"]["attachments"] == [small]
    assert after["state"]["output"].startswith("Image read successfully\n\n[Removed by Suture: shot.png, image/png")
    assert (after["callID"], after["state"]["status"]) == ("toolu_img", "completed")


def test_23_half_an_emoji_in_the_arguments_is_replaced_and_the_whole_one_kept() -> None:
    state = data(repair("23", "safe"), "prt_0002_02")["state"]
    assert state["input"] == {"pattern": "ok \ufffd"} and state["output"] == "none \U0001f600"


def test_24_the_empty_id_becomes_a_new_one_and_no_two_are_equal() -> None:
    after = repair("24", "safe", rules=["call-id-charset"])
    ids = [data(after, part)["callID"] for part in ("prt_0002_02", "prt_0002_03")]
    assert all(ids) and len(set(ids)) == 2
    session, target = load("24")
    by_part = {
        finding.parts[0]: finding for finding in scan(session, target).findings if finding.rule == "call-id-charset"
    }
    assert by_part["prt_0002_02"].severity == "blocked" and by_part["prt_0002_03"].severity == "info"


def test_26_arguments_that_parse_become_the_object_and_cut_off_ones_are_kept_apart() -> None:
    after = repair("26", "safe")
    assert data(after, "prt_0002_02")["state"]["input"] == {"filePath": "/home/dev/demo/n"}
    state = data(after, "prt_0002_03")["state"]
    assert state["input"] == {} and state["metadata"]["rawInput"] == '{"filePath":"/wo' and state["status"] == "error"


def test_27_the_failed_summary_gets_a_finish() -> None:
    after = repair("27", "safe")
    message = after.message("msg_0004")
    assert message is not None and message.data["finish"] == "error"
    assert unchanged_but("27", after, "msg_0004")


def test_29_the_foreign_tail_marker_goes_and_the_numbers_are_said() -> None:
    session, target = load("29")
    (finding,) = [one for one in scan(session, target).findings if one.rule == "dangling-tail"]
    assert finding.details["messages_sent_before"] > finding.details["messages_sent_after"]
    assert data(repair("29"), "prt_1002_01") == {"type": "compaction", "auto": True}


def test_30_the_answer_points_to_the_nearest_earlier_prompt() -> None:
    message = repair("30", "safe").message("msg_0003")
    assert message is not None and message.parent_id == "msg_0001"


def test_31_project_and_path_are_set_together_and_the_archive_is_a_second_reason() -> None:
    after = repair("31")
    assert (after.rows.session["project_id"], after.rows.session["path"]) == ("proj_a", "")
    document = copy.deepcopy(ALL["31"]["input"])
    document["session"]["time_archived"] = 5
    session, target = load("31", document)
    result = scan(session, target)
    assert {"hidden-project", "hidden-archived"} <= {finding.rule for finding in result.findings}
    assert any("archived" in str(dict(one.details)) for one in result.findings if one.rule == "hidden-project")


def test_32_the_missing_agent_is_the_mode_and_the_path_is_named() -> None:
    session, target = load("32")
    (finding,) = scan(session, target).findings
    assert finding.details["row"] == "msg_0002" and finding.details["path"] == "agent"
    message = repair("32", "safe").message("msg_0002")
    assert message is not None and message.data["agent"] == "build"


def test_33_ids_follow_the_times_with_every_reference() -> None:
    after = repair("33")
    ids = [message.id for message in after.messages]
    assert ids == sorted(ids) and len(set(ids)) == 3
    assert [message.time_created for message in after.messages] == sorted(
        message.time_created for message in after.messages
    )
    assert {message.parent_id for message in after.messages if message.is_assistant} == {ids[0]}
    assert all(part.message_id == message.id for message in after.messages for part in message.parts)
    assert [len(message.parts) for message in after.messages] == [1, 3, 3]


def test_33_the_finding_names_the_clients() -> None:
    session, target = load("33")
    (finding,) = [one for one in scan(session, target).findings if one.rule == "id-order-skew"]
    assert "1.18.11" in finding.details["clients"] and "2026-08-14" in finding.details["clients"]


def test_34_the_session_sums_are_recomputed_on_request_and_the_steps_stay() -> None:
    session, target = load("34")
    assert not planning.plan(session, target, Wish(safety="lossy")).operations
    after = repair("34", "safe", rules=["usage-counters-wrong"])
    assert after.rows.session["tokens_input"] == 0 and after.rows.session["tokens_output"] == 7
    assert data(after, "prt_0002_03")["tokens"]["input"] == -423


def test_facts_that_are_not_known_raise_nothing() -> None:
    session, target = load("01")
    assert {one.rule for one in scan(session, target, facts=Facts()).findings} == {"duplicate-call-id-in-message"}
