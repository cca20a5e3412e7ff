"""Turns that never ended, leftovers, lost step marks (docs/contract/rules.md#2.4, #2.17)."""

from __future__ import annotations

from tests.factories.sessions import (
    CLAUDE,
    KIMI,
    V1,
    V2,
    aborted,
    codes,
    data_of,
    finish,
    found,
    part_ids,
    reasoning,
    repaired,
    scanned,
    start,
    text,
    tool,
)


def test_an_open_turn_with_text_keeps_it_and_gets_only_its_end() -> None:
    session = V1().user("go").assistant(start(), text("said"), completed=False).decoded()
    message = repaired(session, safety="safe").messages[1]
    assert message.completed_at is not None and message.error is None


def test_an_open_turn_without_parts_is_closed_as_aborted_and_then_removed() -> None:
    session = V1().user("go").assistant(completed=False).decoded()
    assert [message.id for message in repaired(session, safety="safe").messages] == ["msg_0001"]


def test_no_time_is_later_than_what_the_rows_know() -> None:
    session = V1().user("go").assistant(start(), text("said"), completed=False).decoded()
    assert repaired(session).messages[1].completed_at == session.messages[1].time_created


def test_a_session_marked_as_compacting_is_cleared() -> None:
    session = V1(time_compacting=5).user("go").decoded()
    assert repaired(session, safety="safe").rows.session["time_compacting"] is None


def test_a_running_v2_compaction_is_closed_as_failed() -> None:
    session = V2().user("go").row("compaction", status="running", reason="auto", summary="s", recent="").decoded()
    after = repaired(session, safety="safe")
    assert after.messages[1].data["status"] == "failed" and not after.faults


def test_leftovers_of_an_attempt_that_ran_nothing_go_with_its_calls_that_never_ran() -> None:
    parts = [start(), reasoning("half"), text("hal"), aborted("a"), start(), text("whole"), finish()]
    after = repaired(V1().user("go").assistant(*parts).decoded(), safety="safe")
    assert part_ids(after, "msg_0002") == ["prt_0002_05", "prt_0002_06", "prt_0002_07"]


def test_a_completed_call_of_a_failed_attempt_is_kept() -> None:
    session = V1().user("go").assistant(start(), text("hal"), tool("a"), start(), tool("b"), finish()).decoded()
    after = repaired(session, choices={"failed-attempt-leftovers": "discard-text"})
    assert part_ids(after, "msg_0002") == [
        "prt_0002_01",
        "prt_0002_03",
        "prt_0002_04",
        "prt_0002_05",
        "prt_0002_06",
    ]


def test_both_step_starts_are_never_removed() -> None:
    session = V1().user("go").assistant(start(), text("hal"), start(), text("whole"), finish()).decoded()
    assert any(part.kind == "step-start" for part in repaired(session).messages[1].parts)


def test_a_step_that_finished_is_no_failed_attempt() -> None:
    session = V1().user("go").assistant(start(), tool("a"), finish(), start(), text("b"), finish()).decoded()
    assert "failed-attempt-leftovers" not in codes(session)


def test_an_empty_failed_attempt_is_blocked_for_kimi_and_repaired() -> None:
    session = V1(KIMI).user("go").assistant(start(), text(""), start(), text("whole"), finish()).user("on").decoded()
    assert scanned(session, KIMI).health == "blocked"
    assert scanned(repaired(session, KIMI, safety="safe"), KIMI).health == "healthy"


def test_a_missing_step_start_is_inserted_where_the_next_step_began() -> None:
    parts = [start(), tool("a"), finish(), text("next"), tool("b"), finish()]
    session = V1(CLAUDE).user("go").assistant(*parts).user("on").decoded()
    assert found(session, "step-boundary-lost", CLAUDE).safety == "safe"
    after = repaired(session, CLAUDE, safety="safe")
    assert [part.kind for part in after.messages[1].parts] == [
        "step-start",
        "tool",
        "step-finish",
        "step-start",
        "text",
        "tool",
        "step-finish",
    ]
    inserted = after.messages[1].parts[3]
    assert "prt_0002_03" < inserted.id < "prt_0002_04" and inserted.row is not None
    assert inserted.row["message_id"] == "msg_0002" and inserted.row["session_id"] == "ses_t"


def test_an_inserted_part_between_client_ids_has_a_client_id_of_the_same_epoch() -> None:
    session = V1().user("go").assistant(start(), finish(), text("next"))
    for place, part in enumerate(session.messages[1]["parts"]):
        part["id"] = f"prt_22b80cba{place}001011diW4Lhu7i5F"
    after = repaired(session.decoded(), safety="safe")
    ids = [part.id for part in after.messages[1].parts]
    assert ids == sorted(ids) and all(len(one) == len(ids[0]) and one.startswith("prt_22b80cba") for one in ids)


def test_data_of_an_inserted_mark_is_what_the_schema_asks() -> None:
    session = V1().user("go").assistant(start(), finish(), text("next")).decoded()
    after = repaired(session)
    assert not after.faults and data_of(after, after.messages[1].parts[2].id) == {"type": "step-start"}
