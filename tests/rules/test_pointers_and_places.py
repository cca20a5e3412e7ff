"""Dangling pointers, id order, hidden sessions, counters (docs/contract/rules.md#2.2, #2.16, #2.20, #2.28)."""

from __future__ import annotations

from sessions_app.domain.rules import Facts
from tests.factories.sessions import CHAT, V1, codes, data_of, finish, found, message_ids, repaired, start, text, tool

PROJECTS = [
    {"id": "global", "worktree": "/"},
    {"id": "p", "worktree": "/d"},
    {"id": "inner", "worktree": "/d/inner"},
]


def test_a_revert_that_points_nowhere_is_cleared_and_says_that_files_are_not_restored() -> None:
    session = V1(revert='{"messageID":"msg_9999"}').user("a").decoded()
    finding = found(session, "dangling-revert")
    assert (finding.severity, finding.safety) == ("at-risk", "safe") and "snapshot" in finding.choices[0].label
    assert repaired(session, safety="safe").rows.session["revert"] is None


def test_a_pending_revert_that_will_delete_messages_is_at_risk_and_only_offered() -> None:
    session = V1(revert={"messageID": "msg_0002"}).user("a").assistant(start(), text("x"), finish("stop")).decoded()
    finding = found(session, "dangling-revert")
    assert finding.severity == "at-risk" and "next prompt deletes 1" in finding.summary
    assert repaired(session).rows.session["revert"] is not None
    after = repaired(session, choices={"dangling-revert": "clear"})
    assert "dangling-revert" not in codes(after)


def test_an_answer_without_any_earlier_prompt_is_left_alone() -> None:
    session = V1().assistant(start(), text("x"), finish("stop"), parentID="msg_9").decoded()
    assert found(session, "dangling-parent").safety == "manual" and message_ids(repaired(session)) == ["msg_0001"]


def test_a_parent_session_counts_as_gone_only_where_the_store_is_known() -> None:
    session = V1(parent_id="ses_gone").user("a").decoded()
    assert not codes(session)
    facts = Facts(complete=True, sessions=frozenset({"ses_t"}))
    assert found(session, "dangling-child", facts=facts).safety == "safe"
    assert repaired(session, facts=facts, safety="safe").rows.session["parent_id"] is None


def wrapped(version: str = "1.18.11"):
    """Written over the wrap of 2026-08-14: older ids are greater than newer ones."""
    wrap = 2**36 * 26
    history = (
        V1(version=version)
        .user("a")
        .assistant(start(), text("b"), finish("stop"))
        .user("c")
        .assistant(start(), text("d"), finish("stop"))
    )
    for place, message in enumerate(history.messages):
        time = wrap + (place - 2) * 60_000
        new = f"msg_{(time * 0x1000) % 2**48:012x}{'0' * 13}{place}"
        message |= {"id": new, "time_created": time}
        for part in message["parts"]:
            part["message_id"] = new
    for message in history.messages[1::2]:
        message["data"]["parentID"] = history.messages[history.messages.index(message) - 1]["id"]
    return history.decoded()


def test_after_an_id_wrap_the_older_messages_move_below_the_newer_ones() -> None:
    session = wrapped()
    before = message_ids(session)
    assert before[0] > before[2]
    assert found(session, "id-order-skew").details["wrapped"] is True
    after = repaired(session)
    now = message_ids(after)
    assert now == sorted(now) and now[2:] == before[2:]
    assert [message.parent_id for message in after.messages] == [None, now[0], None, now[2]]
    assert [len(message.parts) for message in after.messages] == [1, 3, 1, 3]
    assert [message.time_created for message in after.messages] == [
        message.time_created for message in session.messages
    ]


def test_an_unwrapped_session_from_before_the_wrap_is_info() -> None:
    history = wrapped().rows
    history.messages = history.messages[:2]
    from sessions_app.domain import dialects

    session = dialects.decode(history)
    assert "id-order-skew" not in codes(session)
    assert found(session, "id-order-skew", facts=Facts(now=2**36 * 26 + 10**9)).severity == "info"


def test_clients_that_go_by_times_are_not_told_of_the_order_of_ids() -> None:
    assert not codes(wrapped("1.18.12"))
    assert not codes(wrapped("1.2.1"), facts=Facts(client="1.18.33"))
    assert codes(wrapped("local")) == {"id-order-skew"}


def test_of_the_sessions_that_sleep_over_a_wrap_one_says_it_for_the_store() -> None:
    history = wrapped().rows
    history.messages = history.messages[:2]
    from sessions_app.domain import dialects

    session, now = dialects.decode(history), 2**36 * 26 + 10**9
    one = found(session, "id-order-skew", facts=Facts(now=now, asleep=("ses_t", "ses_a", "ses_b")))
    assert one.details["count"] == 3 and "3 sessions of this store" in one.summary
    assert "id-order-skew" not in codes(session, facts=Facts(now=now, asleep=("ses_a", "ses_t")))


def test_every_reference_follows_a_new_id() -> None:
    history = (
        V1(revert={"messageID": "msg_0009"}, version="1.18.11")
        .user("a")
        .assistant(start(), text("b"), finish("stop"))
        .user({"type": "compaction", "auto": True, "tail_start_id": "msg_0009"})
    )
    history.messages[0]["id"] = "msg_0009"
    history.messages[0]["parts"][0]["message_id"] = "msg_0009"
    history.messages[1]["data"]["parentID"] = "msg_0009"
    after = repaired(history.decoded(), rules=["id-order-skew"])
    new = after.messages[0].id
    assert new < after.messages[1].id
    assert after.messages[1].parent_id == new
    assert data_of(after, "prt_0003_01")["tail_start_id"] == new
    assert new in str(after.rows.session["revert"]) and "msg_0009" not in str(after.rows)


def test_times_are_never_changed_for_order() -> None:
    session = wrapped()
    assert {row["id"]: row["time_created"] for row in session.rows.parts} == {
        row["id"]: row["time_created"] for row in repaired(session).rows.parts
    }


def hidden(**session):
    return V1(CHAT, **{"directory": "/d/src", "path": "src", **session}).user("a").decoded(projects=PROJECTS)


def test_a_session_in_its_place_is_not_hidden() -> None:
    assert not codes(hidden()) and not codes(hidden(path="")) and not codes(hidden(path=None))


def test_project_and_path_move_together_to_the_closest_worktree() -> None:
    after = repaired(hidden(directory="/d/inner/x", path="inner/x"), rules=["hidden-project"])
    assert (after.rows.session["project_id"], after.rows.session["path"]) == ("inner", "x")


def test_a_directory_outside_its_projects_worktree_is_relinked_by_its_path() -> None:
    after = repaired(hidden(directory="/old/place/src"))
    assert (after.rows.session["directory"], after.rows.session["path"]) == ("/d/src", "src")


def test_a_path_that_does_not_fit_is_set_to_what_the_client_computes() -> None:
    assert repaired(hidden(path="other")).rows.session["path"] == "src"


def test_an_empty_path_hides_a_session_that_belongs_to_no_project() -> None:
    """Measured with the real client's ``GET /session?path=``, which lists one of three."""
    for path in ("", None, "other"):
        session = hidden(project_id="global", directory="/workspace", path=path)
        assert codes(session) == {"hidden-path"}
        assert repaired(session).rows.session["path"] == "workspace"
    assert not codes(hidden(project_id="global", directory="/workspace", path="workspace"))
    assert not codes(hidden(project_id="global", directory="/", path=""))
    assert "hidden-path" not in codes(hidden(project_id="global", path=None)), "its project is at fault"


def test_a_missing_directory_is_a_fault_only_in_its_native_place() -> None:
    facts = Facts(native=True, directories={"/d/src": False})
    finding = found(hidden(), "hidden-directory", facts=facts)
    assert finding.severity == "info" and not finding.choices, "nothing that Suture knows would clear it"
    assert "hidden-directory" not in codes(hidden(), facts=Facts(directories={"/d/src": False}))


def test_an_archived_session_is_unarchived_only_on_request() -> None:
    session = hidden(time_archived=7)
    assert found(session, "hidden-archived").open_choice
    assert repaired(session).rows.session["time_archived"] == 7
    assert repaired(session, rules=["hidden-archived"], safety="safe").rows.session["time_archived"] is None


def test_v1_rows_in_a_store_of_a_2x_client_are_said_and_left_alone() -> None:
    finding = found(hidden(), "hidden-generation", facts=Facts(reads="opencode-v2"))
    assert finding.safety == "manual" and not finding.choices


def test_matching_counters_are_no_fault() -> None:
    history = (
        V1(tokens_input=5, cost=0.0)
        .user("a")
        .assistant(start(), tool("c"), finish(input=2), start(), text("x"), finish("stop", input=3))
    )
    assert not codes(history.decoded())
