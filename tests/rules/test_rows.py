"""Rows that do not parse or fit, and rows that belong nowhere (docs/contract/rules.md#2.19, #2.26, #2.29)."""

from __future__ import annotations

import pytest

from sessions_app.domain.rules import Facts
from tests.factories.sessions import (
    CHAT,
    V1,
    codes,
    data_of,
    finish,
    found,
    message_ids,
    repaired,
    scanned,
    start,
    text,
    tool,
)


def damaged(raw: str):
    history = V1(CHAT).user("go").assistant(start(), text("x"), tool("c"), finish("stop")).user("on")
    history.messages[1]["parts"][1]["data"] = raw
    return history.decoded()


@pytest.mark.parametrize("raw", ["", "\0" * 40, '{"type":"text","te', "[1"])
def test_an_unreadable_part_blocks_the_session_and_is_taken_out_alone(raw: str) -> None:
    session = damaged(raw)
    finding = found(session, "corrupt-json")
    assert (finding.severity, finding.safety, finding.parts) == ("blocked", "lossy", ("prt_0002_02",))
    assert scanned(session).health == "blocked"
    after = repaired(session)
    assert after.part("prt_0002_02") is None and len(after.rows.parts) == 5
    assert scanned(after).health == "healthy"


def test_an_unreadable_part_is_never_replaced_by_an_empty_object() -> None:
    assert all(row["data"] != "{}" for row in repaired(damaged("")).rows.parts)


def test_an_unreadable_message_with_parts_is_left_until_asked() -> None:
    history = V1(CHAT).user("go").assistant(start(), text("x"), finish("stop")).user("on")
    history.messages[1]["data"] = '{"role":"assi'
    session = history.decoded()
    assert found(session, "corrupt-json").safety == "manual"
    assert message_ids(repaired(session)) == message_ids(session)
    assert message_ids(repaired(session, choices={"corrupt-json": "quarantine"})) == ["msg_0001", "msg_0003"]


def test_an_unreadable_revert_column_is_cleared() -> None:
    session = V1(revert="{cut").user("go").decoded()
    assert found(session, "corrupt-json").severity == "blocked"
    assert repaired(session).rows.session["revert"] is None


@pytest.mark.parametrize(
    ("missing", "value"),
    [
        ("agent", "build"),
        ("mode", "build"),
        ("parentID", "msg_0001"),
        ("providerID", "acme"),
        ("modelID", "model-1"),
        ("cost", 0),
        ("path", {"cwd": "/d", "root": "/d"}),
    ],
)
def test_a_missing_field_of_an_answer_is_filled_from_what_the_session_knows(missing: str, value: object) -> None:
    history = V1(CHAT).user("go").assistant(start(), text("x"), finish("stop")).user("on")
    del history.messages[1]["data"][missing]
    session = history.decoded()
    assert found(session, "undecodable-row").details["path"] == missing
    after = repaired(session, safety="safe")
    assert after.messages[1].data[missing] == value and not after.faults


def test_several_missing_fields_are_filled_one_after_the_other() -> None:
    history = V1(CHAT).user("go").assistant(start(), text("x"), finish("stop")).user("on")
    for name in ("agent", "mode", "cost", "tokens", "path"):
        del history.messages[1]["data"][name]
    assert not repaired(history.decoded(), safety="safe").faults


@pytest.mark.parametrize("field", ["title", "metadata", "time"])
def test_a_completed_call_gets_the_fields_its_status_needs(field: str) -> None:
    part = tool("c")
    del part["state"][field]
    session = V1(CHAT).user("go").assistant(start(), part, finish()).user("on").decoded()
    after = repaired(session)
    assert not after.faults and data_of(after, "prt_0002_02")["state"]["output"] == "done"


def test_a_missing_output_is_not_made_up() -> None:
    part = tool("c")
    del part["state"]["output"]
    session = V1(CHAT).user("go").assistant(start(), part, finish()).user("on").decoded()
    assert scanned(session).health == "blocked"
    after = repaired(session)
    state = data_of(after, "prt_0002_02")["state"]
    assert state["status"] == "error" and "outcome unknown" in state["error"] and "output" not in state
    assert not after.faults and scanned(after).health == "healthy"


def test_a_tool_part_without_state_becomes_an_error_of_unknown_outcome() -> None:
    session = (
        V1(CHAT)
        .user("go")
        .assistant(start(), {"type": "tool", "tool": "bash", "callID": "c"}, finish())
        .user("on")
        .decoded()
    )
    after = repaired(session)
    assert not after.faults and data_of(after, "prt_0002_02")["state"]["status"] == "error"


def test_a_text_part_without_text_holds_nothing_and_goes() -> None:
    session = V1(CHAT).user("go").assistant(start(), {"type": "text"}, text("x"), finish("stop")).user("on").decoded()
    after = repaired(session, safety="safe")
    assert after.part("prt_0002_02") is None and not after.faults


def test_an_unknown_kind_is_kept_and_info() -> None:
    session = V1(CHAT).user("go", {"type": "mystery", "x": 1}).decoded()
    assert found(session, "undecodable-row").severity == "info"
    assert scanned(session).health == "healthy" and repaired(session).rows == session.rows


def test_parts_without_a_message_are_removed_and_no_message_is_made_up() -> None:
    history = V1(CHAT).user("go")
    session = history.decoded()
    from dataclasses import replace

    from sessions_app.domain import dialects

    stray = {**session.rows.parts[0], "id": "prt_9", "message_id": "msg_gone"}
    session = dialects.decode(replace(session.rows, parts=[*session.rows.parts, stray]))
    assert found(session, "orphan-row").parts == ("prt_9",)
    after = repaired(session)
    assert not after.orphans and message_ids(after) == ["msg_0001"]


def test_a_part_filed_under_another_session_is_refiled() -> None:
    history = V1(CHAT).user("go")
    history.messages[0]["parts"][0]["session_id"] = "ses_other"
    after = repaired(history.decoded(), safety="safe")
    assert after.rows.parts[0]["session_id"] == "ses_t"


def test_an_unknown_project_blocks_where_the_store_is_known() -> None:
    session = V1(CHAT, project_id="gone").user("go").decoded(projects=[{"id": "global", "worktree": "/"}])
    assert "orphan-row" not in codes(session)
    facts = Facts(complete=True)
    assert scanned(session, facts=facts).health == "blocked"
    assert repaired(session, facts=facts).rows.session["project_id"] == "global"
