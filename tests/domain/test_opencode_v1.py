"""The opencode-v1 dialect: rows in, faults named, operations back out as the smallest row changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sessions_app.domain.dialects import apply, compile, decode
from sessions_app.domain.dialects.opencode_v1_schema import INVALID_PROMPT, UNEXPECTED
from sessions_app.domain.lowering.dedupe import deduped, winners
from sessions_app.domain.model import OtherPart
from sessions_app.domain.repair import REMOVE, Edit, Operation, OperationError, inverted
from sessions_app.domain.rowdoc import parse_value, rows_hash
from sessions_app.domain.turns import attempts, steps, turns
from tests.factories.recordings import INDEX, corpus_rows
from tests.factories.v1rows import FINISH, START, assistant, session, text, tool, user
from tests.paths import CASES


def test_a_case_whose_assistant_has_no_agent_is_told_with_row_and_path():
    case = json.loads((CASES / "32-assistant-row-without-agent-transcript-refused.json").read_text())
    [fault] = decode(parse_value(case["input"])).faults
    assert (fault.table, fault.id, fault.path, fault.rule) == (
        "message",
        "msg_0002",
        "agent",
        "undecodable-row",
    )
    assert not fault.fatal


def test_rows_that_the_client_wrote_have_no_fault():
    written = [
        e
        for e in INDEX.values()
        if e.get("session") and f"{e['name']}.db" in e["files"] and not e["name"].startswith("v1_")
    ]
    assert len(written) > 50
    for entry in written:
        assert decode(corpus_rows(entry["name"], entry["session"])).faults == []


@pytest.mark.parametrize(
    ("part", "path", "words"),
    [
        ({"type": "text"}, "text", INVALID_PROMPT),
        ({"type": "text", "text": None}, "text", INVALID_PROMPT),
        ({"type": "reasoning", "time": {"start": 1}}, "text", INVALID_PROMPT),
        ({"type": "tool", "tool": "x", "callID": "c"}, "state", UNEXPECTED),
        (tool("c", time=None), "state.time", UNEXPECTED),
        (tool("c", output=None), "state.output", INVALID_PROMPT),
        (tool("c", "error", error=None), "state.error", INVALID_PROMPT),
        ({"type": "file", "mime": "image/png"}, "url", INVALID_PROMPT),
    ],
)
def test_a_shape_that_stops_the_client_is_fatal_and_has_its_words(part, path, words):
    [fault] = [fault for fault in decode(session(assistant(part)).rows).faults if fault.table == "part"]
    assert (fault.path, fault.fatal, fault.words) == (path, True, words)


@pytest.mark.parametrize(
    ("part", "path"),
    [
        (tool("c", time={"start": 1}), "state.time.end"),
        (tool("c", output=7), "state.output"),
        (tool("c", "waiting"), "state.status"),
        ({"type": "reasoning", "text": ""}, "time"),
        ({"type": "step-finish", "reason": "stop"}, "cost"),
        ({}, "type"),
        ([1], ""),
    ],
)
def test_what_only_the_schema_refuses_is_a_fault_that_stops_nothing(part, path):
    [fault] = [fault for fault in session(assistant(part)).faults if fault.table == "part"]
    assert (fault.path, fault.fatal, fault.rule) == (path, False, "undecodable-row")


def test_text_that_is_not_json_is_kept_raw_and_reported():
    rows = session(user(text("a"))).rows
    rows.parts[0]["data"] = '{"type":"text"'
    decoded = decode(rows)
    [part] = decoded.messages[0].parts
    assert (part.raw, part.kind, part.data) == ('{"type":"text"', "", {})
    assert part.fault in decoded.faults and part.fault.rule == "corrupt-json" and part.fault.fatal


def test_a_kind_this_version_does_not_know_is_kept_without_fault():
    decoded = session(user({"type": "hologram", "x": 1}, text("a")))
    [part, _] = decoded.messages[0].parts
    assert isinstance(part, OtherPart) and part.kind == "hologram" and part.fault is None


def test_messages_come_by_time_then_id_and_parts_by_id():
    rows = parse_value(
        {
            "messages": [
                {
                    "id": "msg_0",
                    "time_created": 5,
                    "data": {"role": "user"},
                    "parts": [{"id": "b", "data": {}}, {"id": "a", "data": {}}],
                },
                {"id": "msg_f", "time_created": 1, "data": {"role": "user"}},
            ]
        }
    )
    decoded = decode(rows)
    assert [message.id for message in decoded.messages] == ["msg_f", "msg_0"]
    assert [part.id for part in decoded.messages[1].parts] == ["a", "b"]


def test_a_part_of_a_message_that_is_not_there_is_an_orphan():
    rows = parse_value(
        {"messages": [], "parts": [{"id": "p", "message_id": "gone", "data": {"type": "text", "text": ""}}]}
    )
    assert [part.id for part in decode(rows).orphans] == ["p"]


def test_an_orphan_that_does_not_parse_is_reported_and_stops_nothing():
    rows = parse_value({"messages": [], "parts": [{"id": "p", "message_id": "gone", "data": "{"}]})
    [fault] = decode(rows).faults
    assert (fault.id, fault.rule, fault.fatal) == ("p", "corrupt-json", False)


def edit_part(part_id, *edits, **columns):
    return Operation("replace", "part", part_id=part_id, edits=edits, columns=columns)


def test_an_edit_changes_the_named_bytes_of_one_row_and_undo_brings_the_old_rows_back():
    rows = session(assistant(START, tool("c", "running"))).rows
    rows.parts[1]["data"] = rows.parts[1]["data"].replace('"tool":', '"tool" : ')
    changes = compile(rows, [edit_part("m0p1", Edit(("state", "status"), "error"), Edit(("state", "output"), REMOVE))])
    [change] = changes
    assert change.table == "part" and change.key == {"id": "m0p1"}
    assert change.after["data"] == rows.parts[1]["data"].replace('"running"', '"error"').replace('"output":"out",', "")
    after = apply(rows, changes)
    assert after.parts[1] == change.after and rows.parts[1] != change.after
    assert apply(after, inverted(changes)) == rows


def test_several_operations_on_one_row_are_one_change():
    rows = session(assistant(text("a"))).rows
    changes = compile(
        rows,
        [edit_part("m0p0", Edit(("text",), "b")), edit_part("m0p0", Edit(("text",), "c"), time_updated=9)],
    )
    assert [json.loads(change.after["data"])["text"] for change in changes] == ["c"]
    assert changes[0].after["time_updated"] == 9


def test_a_deleted_message_takes_its_parts_first_and_undo_puts_it_back_before_them():
    rows = session(user(text("a"), text("b")), user(text("c"))).rows
    changes = compile(rows, [Operation("delete", "message", message_id="m0")])
    assert [change.table for change in changes] == ["part", "part", "message"]
    after = apply(rows, changes)
    assert [row["id"] for row in after.messages] == ["m1"] and [row["id"] for row in after.parts] == ["m1p0"]
    assert rows_hash(apply(after, inverted(changes))) == rows_hash(rows)


def test_an_inserted_part_stands_in_its_message_by_its_id():
    rows = session(assistant(text("a"), text("c"))).rows
    operation = Operation("insert", "part", message_id="m0", part_id="m0p0x", data={"type": "text", "text": "b"})
    after = apply(rows, compile(rows, [operation]))
    assert [part.text for part in decode(after).messages[0].parts] == ["a", "b", "c"]
    assert after.parts[1]["session_id"] == "ses_1"


def test_a_session_column_is_replaced_and_a_renumbered_row_moves():
    rows = session(user(text("a"))).rows
    changes = compile(
        rows,
        [Operation("replace", "session", columns={"project_id": "p2"}), edit_part("m0p0", id="m0p9")],
    )
    after = apply(rows, changes)
    assert after.session["project_id"] == "p2" and [row["id"] for row in after.parts] == ["m0p9"]
    assert apply(after, inverted(changes)).parts == rows.parts


@pytest.mark.parametrize(
    "operation",
    [
        edit_part("nope", Edit(("a",), 1)),
        Operation("delete", "message", message_id="nope"),
        Operation("insert", "part", message_id="nope", part_id="x", data={}),
        Operation("insert", "part", message_id="m0", part_id="m0p0", data={}),
        Operation("delete", "session"),
        edit_part("m0p0", Edit(("text", "deeper"), 1)),
    ],
)
def test_an_operation_that_fits_nothing_stored_is_refused(operation):
    with pytest.raises(OperationError):
        compile(session(user(text("a"))).rows, [operation])


def test_changes_do_not_apply_to_rows_that_have_changed_meanwhile():
    rows = session(user(text("a"))).rows
    changes = compile(rows, [edit_part("m0p0", Edit(("text",), "b"))])
    moved = replace(rows, parts=[{**rows.parts[0], "data": "{}"}])
    with pytest.raises(OperationError):
        apply(moved, changes)


def test_the_most_informative_twin_wins_and_the_first_among_equals():
    states = ["pending", "running", "error", "error"]
    message = session(assistant(START, *(tool("c", status) for status in states), tool("d"), tool("d"))).messages[0]
    assert [part.id for part in winners(message.tools())] == ["m0p3", "m0p5"]
    assert [part.id for part in deduped(message.parts)] == ["m0p0", "m0p3", "m0p5"]


def test_without_twins_the_parts_are_the_same_object():
    parts = session(assistant(tool("a"), tool("b"))).messages[0].parts
    assert deduped(parts) is parts


def test_two_step_starts_without_a_finish_between_are_two_attempts_of_one_step():
    message = session(
        assistant(
            START,
            text("half"),
            tool("a", "pending", input={}),
            START,
            text("whole"),
            tool("b"),
            FINISH,
            START,
            text("next"),
            FINISH,
        )
    ).messages[0]
    first, second = steps(message)
    assert [attempt.failed for attempt in first.attempts] == [True, False]
    assert [attempt.executed for attempt in first.attempts] == [False, True]
    assert len(second.attempts) == 1 and not second.last.failed
    assert len(attempts(message)) == 3


def test_a_cut_off_last_attempt_has_not_failed_yet():
    message = session(assistant(text("loose"), START, FINISH, text("lost"), START, text("cut"))).messages[0]
    loose, _, cut = attempts(message)
    assert loose.start is None and cut.finish is None and not cut.failed


def test_a_turn_is_a_user_message_with_all_that_answers_it():
    rows = session(
        assistant(text("before")),
        user(text("q1")),
        assistant(text("a1"), parentID="m1"),
        user(text("queued")),
        assistant(text("still a1"), parentID="m1"),
        assistant(text("a2"), parentID="m3"),
        assistant(text("unknown parent"), parentID="gone"),
    )
    assert [[m.id for m in turn.messages] for turn in turns(rows.messages)] == [
        ["m0"],
        ["m1", "m2", "m4"],
        ["m3", "m5", "m6"],
    ]
