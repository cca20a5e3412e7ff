"""The opencode-v2 dialect: generations told from rows, what does not decode, and edits in the row's own shape."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from sessions_app.domain import dialects, jsjson
from sessions_app.domain.dialects.opencode_v2 import compile_operations, decode_messages
from sessions_app.domain.dialects.opencode_v2.shape import Mismatch, struct, text
from sessions_app.domain.lowering import lower
from sessions_app.domain.model import Message, OtherPart, ReasoningPart, Row, SessionRows, TextPart, ToolPart
from sessions_app.domain.repair import REMOVE, Edit, Operation, OperationError
from sessions_app.domain.wire.lowered import Lowered
from sessions_app.domain.wire.target import Target
from tests.each import for_each
from tests.factories.goldens import Golden, goldens, v2_rows
from tests.paths import CORPUS

MODEL = {"providerID": "provider", "id": "model"}


def rows(*messages: dict[str, Any], version: str = "") -> SessionRows:
    whole = [{"id": f"msg_{at}", "time": {"created": 0}, **message} for at, message in enumerate(messages)]
    return SessionRows({"id": "ses", "version": version}, session_message=v2_rows(whole))


def assistant(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "agent": "build", "model": MODEL, "content": list(items), **more}


def tool(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "tool", "id": "call", "name": "read", "state": state, "time": {"created": 0}, **more}


def one(stored: SessionRows, generation: int | None = None) -> Message:
    messages, _ = decode_messages(stored, generation)
    return messages[0]


def telling(golden: Golden) -> bool:
    """Whether the golden's rows fit one generation only, by what the text calls a tell-tale."""
    text = json.dumps(golden.input["messages"])
    marks = {
        1: (
            '"provider": {',
            '"providerMetadata"',
            '"pending"',
            '"uri": "data',
            '"callID"',
            '"sessionID"',
            '"prt_',
        ),
        2: ('"structured"',),
        3: ('"status": "running", "input": {"path": "a"}, "metadata"', '"skills"'),
    }[golden.generation]
    return any(mark in text for mark in marks)


@for_each("golden", [g for g in goldens() if telling(g) and "llm" in g.expected], name=repr, one_in=2)
def test_a_session_without_a_given_generation_decodes_as_the_one_that_wrote_it(golden: Golden) -> None:
    stored = golden.rows()
    if golden.generation > 1:
        stored.session["version"] = "2.0.15"
    messages, faults = decode_messages(stored)
    assert not faults
    assert {message.generation for message in messages} == {golden.generation}


@pytest.mark.parametrize(
    ("message", "version", "generation"),
    [
        ({"type": "user", "text": "x"}, "1.18.4", 1),
        ({"type": "user", "text": "x"}, "2.0.15", 3),
        ({"type": "user", "text": "x"}, "", 1),
        ({"type": "user", "text": "x", "skills": []}, "1.18.4", 3),
        ({"type": "user", "text": "x", "files": [{"uri": "data:,", "mime": "a/b"}]}, "2.0.15", 1),
        ({"type": "shell", "callID": "c", "command": "ls", "output": ""}, "2.0.15", 1),
        ({"type": "shell", "shellID": "sh_1", "command": "ls", "status": "running"}, "1.18.4", 3),
        ({"type": "compaction", "reason": "auto", "summary": "", "recent": ""}, "2.0.15", 1),
        ({"type": "skill", "skill": "s", "name": "S", "text": "t"}, "1.18.4", 3),
        (assistant(tool({"status": "pending", "input": ""})), "2.0.15", 1),
        (assistant(tool({"status": "streaming", "input": ""})), "1.18.4", 3),
        (
            assistant(tool({"status": "running", "input": {}, "structured": {}, "content": []}, executed=True)),
            "2.0.1",
            2,
        ),
        (assistant(tool({"status": "running", "input": {}, "metadata": {}})), "1.18.4", 3),
        (assistant({"type": "text", "id": "prt_1", "text": "t"}), "2.0.15", 1),
        (assistant({"type": "text", "text": "t", "native": {"a": 1}}), "1.18.4", 3),
        (assistant(error={"type": "aborted", "message": "m"}), "1.18.4", 3),
        (assistant(error={"type": "unknown", "message": "m"}), "1.18.4", 1),
    ],
)
def test_the_generation_of_a_row_is_told_by_its_tell_tales(
    message: dict[str, Any], version: str, generation: int
) -> None:
    decoded = one(rows(message, version=version))
    assert decoded.generation == generation
    assert decoded.fault is None


def test_a_row_without_tell_tales_takes_the_generation_of_its_session() -> None:
    stored = rows({"type": "user", "text": "x"}, {"type": "idle", "outcome": "succeeded"}, version="1.18.4")
    assert [message.generation for message in decode_messages(stored)[0]] == [3, 3]


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_every_tool_state_and_item_becomes_a_part(generation: int) -> None:
    golden = next(g for g in goldens() if g.name == "session-mixed" and g.generation == 3)
    if generation != 3:
        golden = next(g for g in goldens() if g.name == "session-cache-auto" and g.generation == generation)
    messages, faults = decode_messages(golden.rows(), generation)
    assert not faults
    turn = next(message for message in messages if message.id == "msg_a1")
    assert [type(part).__mro__[2] for part in turn.parts] == [ReasoningPart, TextPart, ToolPart, ToolPart]
    assert [part.id for part in turn.parts] == [f"msg_a1#{index}" for index in range(4)]
    assert [(t.call_id, t.status, t.executed) for t in turn.tools()] == [
        ("t1", "completed", True),
        ("t2", "error", True),
    ]
    assert (turn.provider, turn.model, turn.is_assistant) == ("provider", "model", True)


def test_a_call_whose_arguments_never_arrived_was_not_executed() -> None:
    failed = {"status": "error", "input": {}, "error": {"type": "x", "message": "y"}}
    never, ran = one(rows(assistant(tool(failed), tool(failed, time={"created": 0, "ran": 1})))).tools()
    assert (never.executed, ran.executed) == (False, True)


def test_the_text_of_an_item_is_the_stored_one() -> None:
    item = '{"type" : "text","text":"caf\\u00e9 \\ud83d", "n":1.50}'
    row: Row = {
        "id": "msg_0",
        "type": "assistant",
        "seq": 1,
        "data": '{"time":{"created":0},"agent":"a","model":{"id":"m","providerID":"p"},"content":['
        '{"type":"text","text":"first"},' + item.replace("\\ud83d", "x") + "]}",
    }
    parts = one(SessionRows({"id": "ses"}, session_message=[row])).parts
    assert [part.raw for part in parts] == ['{"type":"text","text":"first"}', item.replace("\\ud83d", "x")]
    row["data"] = row["data"].replace("café", "café").replace(" x", " \\ud83d")
    assert json.loads(one(SessionRows({"id": "ses"}, session_message=[row])).parts[1].raw)["text"] == "café \ud83d"


@pytest.mark.parametrize(
    ("message", "generation", "path", "words"),
    [
        ({"type": "user"}, 1, "text", 'Missing key\n  at ["text"]'),
        ({"type": "user", "text": 5}, 3, "text", 'Expected string, got 5\n  at ["text"]'),
        ({"type": "user", "text": "x", "metadata": None}, 1, "metadata", "Expected object, got null"),
        (
            {
                "type": "user",
                "text": "x",
                "files": [{"data": "a", "mime": "m", "source": {"type": "inline"}}],
            },
            2,
            "files.0.data",
            "",
        ),
        ({"type": "user", "text": "x", "time": {}}, 3, "time.created", "Missing key"),
        ({"type": "novelty"}, 3, "", ""),
        ({"type": "skill", "skill": "s", "name": "S", "text": "t"}, 1, "", ""),
        ({"type": "idle", "outcome": "failed"}, 2, "", ""),
        (
            assistant(tool({"status": "pending", "input": "{}"})),
            2,
            "content.0.state",
            'Expected { readonly "status": "streaming"',
        ),
        (assistant(tool({"status": "streaming", "input": "{}"})), 1, "content.0.state", ""),
        (
            assistant(tool({"status": "completed", "input": {}, "content": []})),
            3,
            "content.0.state.content",
            "",
        ),
        (
            assistant(tool({"status": "completed", "input": {}, "content": []})),
            2,
            "content.0.state.structured",
            "Missing key",
        ),
        (
            assistant(tool({"status": "completed", "input": [], "structured": {}, "content": []})),
            1,
            "content.0.state.input",
            "Expected object, got []",
        ),
        (
            assistant({"type": "reasoning", "id": "r", "text": "x", "providerMetadata": {"anthropic": "s"}}),
            1,
            "content.0.providerMetadata.anthropic",
            "",
        ),
        (assistant({"type": "picture"}), 3, "content.0", ""),
        (assistant("text"), 3, "content.0", ""),
        ({**assistant(), "content": "text"}, 3, "content", "Expected array"),
        (
            assistant(error={"type": "aborted", "message": "x"}),
            1,
            "error.type",
            'Expected "unknown", got "aborted"',
        ),
    ],
)
def test_what_the_client_cannot_decode_is_a_fatal_fault_with_its_place(
    message: dict[str, Any], generation: int, path: str, words: str
) -> None:
    messages, faults = decode_messages(rows(message, {"type": "user", "text": "fine"}), generation)
    assert [(fault.path, fault.fatal, fault.rule) for fault in faults] == [(path, True, "undecodable-row")]
    assert words in faults[0].words
    assert messages[0].fault is not None
    assert messages[1].fault is None


@pytest.mark.parametrize("data", ["{", "", None, b"\xff{"])
def test_a_row_that_is_no_json_is_kept_and_named(data: Any) -> None:
    row: Row = {"id": "msg_0", "type": "user", "seq": 1, "data": data}
    messages, faults = decode_messages(SessionRows({"id": "ses"}, session_message=[row]))
    assert (faults[0].rule, faults[0].id, faults[0].fatal) == ("corrupt-json", "msg_0", True)
    assert messages[0].row is row


def test_unknown_items_and_fields_are_kept_beside_the_rest() -> None:
    message = one(rows(assistant({"type": "text", "text": "t", "novel": 1}, {"type": "picture", "x": 2})), 3)
    assert message.parts[0].data["novel"] == 1
    assert isinstance(message.parts[1], OtherPart)
    assert (message.parts[1].kind, message.parts[1].data["x"]) == ("picture", 2)


def replaced(part_id: str, *edits: Edit) -> Operation:
    return Operation("replace", "part", part_id.partition("#")[0], part_id, edits)


def removed(part_id: str) -> Operation:
    return Operation("delete", "part", part_id.partition("#")[0], part_id)


def test_edits_change_the_named_place_and_no_other_byte() -> None:
    stored = rows(assistant({"type": "text", "text": "a", "x": 1}, tool({"status": "streaming", "input": "{"})))
    row = stored.session_message[0]
    row["data"] = row["data"].replace('"x":1', '"x" : 1.0')
    (change,) = compile_operations(stored, [replaced("msg_0#1", Edit(("id",), "call_2"))])
    assert change.table == "session_message"
    assert change.key == {"id": "msg_0"}
    assert change.before == row
    assert change.after is not None
    assert change.after["data"] == row["data"].replace('"id":"call"', '"id":"call_2"')


def test_items_go_by_their_planned_index_whatever_else_goes() -> None:
    items = [{"type": "text", "text": str(at)} for at in range(5)]
    stored = rows(assistant(*items))
    operations = [removed("msg_0#1"), replaced("msg_0#4", Edit(("text",), "four")), removed("msg_0#3")]
    (change,) = compile_operations(stored, operations)
    assert change.after is not None
    assert [item["text"] for item in json.loads(change.after["data"])["content"]] == ["0", "2", "four"]


def test_an_assistant_message_that_goes_leaves_its_row_empty_and_is_sent_as_nothing() -> None:
    stored = rows(assistant({"type": "text", "text": "a"}), {"type": "user", "text": "u"}, version="2.0.15")
    changes = dialects.compile(stored, [Operation("delete", "message", "msg_0")])
    after = dialects.apply(stored, changes)
    assert [row["id"] for row in after.session_message] == ["msg_0", "msg_1"]
    sent = lower(dialects.decode(after), Target("openai-chat", "provider", "model"))
    assert [message["role"] for message in sent.messages] == ["user"]


@pytest.mark.parametrize(
    "operation",
    [
        Operation("delete", "message", "msg_1"),
        Operation("insert", "message", "msg_9", data={"text": "x"}),
        Operation("insert", "part", "msg_0", "msg_0#9", data={"type": "text"}),
        Operation("replace", "part", "msg_0", "msg_0#7", (Edit(("text",), "x"),)),
        Operation("replace", "part", "msg_0", "prt_7", (Edit(("text",), "x"),)),
        Operation("replace", "message", "msg_7", edits=(Edit(("text",), "x"),)),
    ],
)
def test_rows_are_never_added_or_removed_and_wrong_places_are_refused(operation: Operation) -> None:
    stored = rows(assistant({"type": "text", "text": "a"}), {"type": "user", "text": "u"})
    with pytest.raises(OperationError):
        compile_operations(stored, [operation])


def test_an_edit_of_a_message_itself() -> None:
    stored = rows(assistant(error={"type": "unknown", "message": "m"}))
    change = compile_operations(stored, [Operation("replace", "message", "msg_0", edits=(Edit(("error",), REMOVE),))])[
        0
    ]
    assert change.after is not None and "error" not in json.loads(change.after["data"])
    assert jsjson.loads(change.after["data"])["content"] == []  # type: ignore[index, call-overload]


def corpus_rows() -> SessionRows:
    """The session that the client's real projector wrote (docs/contract/formats.md#b3, where duplicate tool ids come
    from)."""
    file = sqlite3.connect(f"file:{CORPUS / 'v2-gen1.db'}?mode=ro&immutable=1", uri=True)
    file.row_factory = sqlite3.Row
    try:
        messages = [dict(row) for row in file.execute("select * from session_message order by seq")]
        session = dict(file.execute("select * from session").fetchone())
    finally:
        file.close()
    return SessionRows(session, session_message=messages)


def test_the_clients_own_rows_decode_and_its_duplicate_is_collapsed() -> None:
    session = dialects.decode(corpus_rows())
    assert session.dialect == "opencode-v2"
    assert not session.faults
    assert {message.generation for message in session.history("opencode-v2")} == {1}
    turn = session.message("msg_a2")
    assert turn is not None
    ids = [tool.call_id for tool in turn.tools()]
    assert len(ids) > len(set(ids))
    # The compaction hides the turn; without its row it would be sent, with one call per id.
    session.histories["opencode-v2"] = [message for message in session.messages if message.kind != "compaction"]
    target = Target("anthropic-messages", "anthropic", "claude")
    stored, fixed = calls(lower(session, target, repairs=False)), calls(lower(session, target))
    assert len(stored) > len(set(stored))
    assert len(fixed) == len(set(fixed))


def calls(lowered: Lowered) -> list[str]:
    parts = [part for message in lowered.messages for part in message["content"]]
    return [part["id"] for part in parts if part["type"] == "tool-call"]


def test_of_several_faults_in_optional_fields_the_first_declared_is_named_in_every_process() -> None:
    names = [f"field{number}" for number in range(12)]
    for turn in range(12):
        declared = [*names[turn:], *names[:turn]]
        with pytest.raises(Mismatch) as caught:
            struct({}, dict.fromkeys(declared, text))(dict.fromkeys(names, 1))
        assert caught.value.path == (declared[0],)
