"""Compactions (docs/contract/rules.md#2.5)."""

from __future__ import annotations

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
)

FAILED = {"name": "APIError", "data": {"message": "overloaded"}}


def trigger(**more):
    return {"type": "compaction", "auto": True, **more}


def summary(history: V1, *parts, **data):
    return history.assistant(start(), *parts, mode="compaction", agent="compaction", summary=True, **data)


def worked(**session) -> V1:
    return V1(CHAT, **session).user("long work").assistant(start(), text("much done"), finish("stop"))


def test_a_run_of_failed_compactions_is_removed_and_the_good_summary_stays() -> None:
    history = summary(worked().user(trigger()), text("good"), finish("stop"))
    for _ in range(3):
        history = summary(history.user(trigger()), error=FAILED, finish="error")
    after = repaired(history.user("on").decoded(), safety="safe")
    assert message_ids(after) == ["msg_0001", "msg_0002", "msg_0003", "msg_0004", "msg_0011"]


def test_one_failed_compaction_is_no_loop() -> None:
    session = summary(worked().user(trigger()), error=FAILED, finish="error").user("on").decoded()
    assert "compaction-loop" not in codes(session)


def test_failed_compactions_with_real_work_between_are_no_loop() -> None:
    history = summary(worked().user(trigger()), error=FAILED, finish="error")
    history = history.user("more").assistant(start(), text("did more"), finish("stop"))
    session = summary(history.user(trigger()), error=FAILED, finish="error").decoded()
    assert "compaction-loop" not in codes(session)


def test_summaries_that_gained_nothing_are_removed_but_the_newest() -> None:
    history = worked()
    for number in range(4):
        history = summary(history.user(trigger()), text(f"summary {number}"), finish("stop"))
    session = history.user("on").decoded()
    finding = found(session, "compaction-loop")
    assert finding.safety == "lossy"
    after = repaired(session)
    assert message_ids(after) == ["msg_0001", "msg_0002", "msg_0009", "msg_0010", "msg_0011"]


def test_a_cut_off_summary_ends_as_failed_and_the_history_stays() -> None:
    session = summary(worked().user(trigger()), text(""), completed=False).user("on").decoded()
    assert {"summary-unfinished", "open-turn"} <= codes(session)
    message = repaired(session, safety="safe").message("msg_0004")
    assert message is not None and message.data["finish"] == "error" and message.error and message.completed_at


def test_a_failed_summary_with_a_tail_loses_the_tail_marker_alone() -> None:
    session = (
        summary(worked().user(trigger(tail_start_id="msg_0002")), error=FAILED, finish="error").user("on").decoded()
    )
    assert "summary-failed-with-tail" in codes(session)
    after = repaired(session, safety="safe")
    assert data_of(after, "prt_0003_01") == {"type": "compaction", "auto": True}
    assert message_ids(after) == message_ids(session)


def test_an_empty_summary_is_marked_failed_so_the_history_shows_again() -> None:
    session = summary(worked().user(trigger()), finish("stop")).user("on").decoded()
    finding = found(session, "summary-empty")
    assert [choice.name for choice in finding.choices] == ["fail", "remove"]
    from sessions_app.domain.lowering.replay import replayed

    assert len(replayed(session)) == 3
    after = repaired(session, safety="safe")
    assert len(replayed(after)) == 5 and scanned(after).health == "healthy"


def test_the_text_of_a_summary_is_never_edited() -> None:
    session = summary(worked().user(trigger()), text("good"), finish("stop")).user("on").decoded()
    assert not codes(session)


def test_a_summary_under_the_next_prompt_answers_the_compaction_again() -> None:
    history = worked().user(trigger()).user("continue")
    session = summary(history, text("good"), finish("stop")).user("on").decoded()
    assert found(session, "summary-flag-wrong").choices[0].name == "reparent"
    message = repaired(session, safety="safe").message("msg_0005")
    assert message is not None and message.parent_id == "msg_0003"


def test_a_summary_without_any_compaction_is_an_ordinary_answer() -> None:
    session = summary(worked().user("hm"), text("good"), finish("stop")).user("on").decoded()
    message = repaired(session, safety="safe").message("msg_0004")
    assert message is not None and "summary" not in message.data


def test_a_tail_that_begins_inside_a_turn_moves_to_its_prompt_on_request() -> None:
    history = (
        worked().user("b").assistant(start(), text("one"), finish()).assistant(start(), text("two"), finish("stop"))
    )
    session = (
        summary(history.user(trigger(tail_start_id="msg_0005")), text("good"), finish("stop")).user("on").decoded()
    )
    finding = found(session, "compaction-cuts-tool-pair")
    assert finding.severity == "info"
    after = repaired(session, rules=["compaction-cuts-tool-pair"], safety="safe")
    assert data_of(after, "prt_0006_01")["tail_start_id"] == "msg_0003"
