"""V1 lowering where no recording is at hand: the rules of docs/contract/wire.md#6.1, #6.7 and #6.8 one by one."""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.bodies import body
from sessions_app.domain.dialects import decode
from sessions_app.domain.lowering import lower
from sessions_app.domain.lowering.replay import opens_with_task
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.target import ModelCapabilities, make_target
from tests.each import for_each
from tests.factories.recordings import RECORDINGS, corpus_rows
from tests.factories.v1rows import CHAT, CLAUDE, FINISH, START, assistant, session, text, tool, user
from tests.lowering.v1.test_parity import AFTER_TASK, TURNS

PNG = "data:image/png;base64,iVBORw0KGgo="
ABORTED = {"name": "MessageAbortedError", "data": {}}


def sent(target, *messages, repairs=False, **columns):
    messages = body(session(*messages, **columns), target, repairs).body["messages"]
    return messages[1:] if target.protocol == "openai-chat" else messages


def file(mime, url, **more):
    return {"type": "file", "mime": mime, "url": url, **more}


EVERYTHING = ModelCapabilities(("text", "image", "pdf", "audio", "video"))


def refusal(target, *messages):
    with pytest.raises(LoweringError) as caught:
        sent(target, *messages)
    return caught.value.words


@pytest.mark.parametrize(
    ("mime", "chat", "claude"),
    [
        (
            "application/zip",
            "'file part media type application/zip' functionality not supported.",
            "'media type: application/zip' functionality not supported.",
        ),
        ("text/markdown", None, "'media type: text/markdown' functionality not supported."),
        ("audio/wav", None, "'media type: audio/wav' functionality not supported."),
    ],
)
def test_a_file_the_package_cannot_send_stops_the_session_in_its_words(mime, chat, claude):
    message = user(text("see"), file(mime, f"data:{mime};base64,aGk="))
    assert refusal(replace(CLAUDE, capabilities=EVERYTHING), message) == claude
    if chat is not None:
        assert refusal(replace(CHAT, capabilities=EVERYTHING), message) == chat


def test_user_files_on_chat_are_images_documents_sound_and_text():
    files = [
        file("image/png", PNG),
        file("application/pdf", "data:application/pdf;base64,JVBER"),
        file("audio/wav", "data:audio/wav;base64,UklG"),
        file("text/markdown", "data:text/markdown;base64," + base64.b64encode("# né".encode()).decode()),
        file("text/plain", "data:text/plain,gone"),
    ]
    assert sent(replace(CHAT, capabilities=EVERYTHING), user(*files))[0]["content"] == [
        {"type": "image_url", "image_url": {"url": PNG}},
        {
            "type": "file",
            "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBER"},
        },
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        {"type": "text", "text": "# né"},
    ]


def test_the_media_type_of_a_data_url_wins_over_the_parts_own():
    [message] = sent(CLAUDE, user(file("image/*", "data:image/png,%89PNG"), file("image/jpeg", PNG)))
    assert [block["source"]["media_type"] for block in message["content"]] == ["image/png", "image/png"]
    assert message["content"][0]["source"]["data"] == "%89PNG"


def test_a_file_the_model_does_not_read_becomes_a_text_with_or_without_its_name():
    blind = replace(CHAT, capabilities=ModelCapabilities(("text",)))
    [message] = sent(
        blind,
        user(file("image/png", PNG, filename="a.png"), file("application/pdf", "data:application/pdf;base64,x")),
    )
    assert [part["text"] for part in message["content"]] == [
        'ERROR: Cannot read "a.png" (this model does not support image input). Inform the user.',
        "ERROR: Cannot read pdf (this model does not support pdf input). Inform the user.",
    ]


def test_a_text_file_written_out_in_its_url_is_read_as_text():
    note = file("text/markdown", "data:text/markdown,%23%20n%C3%A9")
    assert sent(CHAT, user(text("see"), note))[0]["content"][1] == {"type": "text", "text": "# né"}


def test_without_configuration_images_pass_and_documents_only_where_a_known_provider_reads_them():
    pdf = user(file("application/pdf", "data:application/pdf;base64,x"))
    assert sent(make_target("anthropic", "claude-1"), pdf)[0]["content"][0]["type"] == "document"
    assert sent(CLAUDE, pdf)[0]["content"][0]["text"].startswith("ERROR: Cannot read pdf")
    sound = user(file("audio/wav", "data:audio/wav;base64,x"))
    assert sent(make_target("anthropic", "claude-1"), sound)[0]["content"][0]["text"].startswith(
        "ERROR: Cannot read audio"
    )


def test_attachments_that_are_no_media_stay_inside_the_result_on_chat_and_vanish_on_claude():
    note = {"type": "file", "mime": "text/plain", "url": "data:text/plain;base64,aGk=", "filename": "n.txt"}
    row = assistant(START, tool("c1", attachments=[note]))
    content = sent(CHAT, row)[1]["content"]
    assert content == '[{"type":"text","text":"out"},{"type":"file-data","data":"aGk=","mediaType":"text/plain"}]'
    assert sent(CLAUDE, row)[1]["content"][0]["content"] == [{"type": "text", "text": "out"}]


def test_images_of_a_result_follow_as_a_user_message_on_chat():
    image = {"type": "file", "mime": "image/jpeg", "url": PNG, "filename": "a.png"}
    messages = sent(CHAT, assistant(START, tool("c1", attachments=[image])))
    assert [m["role"] for m in messages] == ["assistant", "tool", "user"]
    assert messages[2]["content"][0] == {"type": "text", "text": "Attached media from tool result:"}
    assert messages[2]["content"][1] == {"type": "image_url", "image_url": {"url": PNG}}
    [_, result] = sent(CLAUDE, assistant(START, tool("c1", attachments=[image])))
    assert result["content"][0]["content"][1]["source"]["media_type"] == "image/jpeg"


def test_tool_calls_move_behind_other_blocks_up_to_the_next_thinking_block():
    signed = {"type": "reasoning", "text": "t", "metadata": {"anthropic": {"signature": "s"}}}
    unsigned = {"type": "reasoning", "text": "u"}
    row = assistant(
        START, text("A"), tool("c1"), unsigned, text("B"), signed, tool("c2"), text("C"), modelID="claude-1"
    )
    kinds = [block.get("text") or block.get("id") or block["type"] for block in sent(CLAUDE, row)[0]["content"]]
    assert kinds == ["A", "B", "c1", "thinking", "C", "c2"]


def test_who_made_a_call_is_sent_back_to_the_same_model_only():
    part = tool("c1", metadata={"anthropic": {"caller": {"type": "code_execution_20250825", "toolId": "x"}}})
    [call] = sent(CLAUDE, assistant(START, part, modelID="claude-1"))[0]["content"]
    assert call["caller"] == {"type": "code_execution_20250825", "tool_id": "x"}
    [call] = sent(CLAUDE, assistant(START, part, modelID="other"))[0]["content"]
    assert "caller" not in call


def test_failed_turns_are_left_out_and_aborted_ones_with_content_are_not():
    failed = assistant(START, text("x"), error={"name": "APIError"})
    aborted = assistant(START, text("y"), error=ABORTED)
    only_thought = assistant(START, {"type": "reasoning", "text": "z"}, error=ABORTED)
    lowered = lower(session(user(text("q")), failed, aborted, only_thought), CHAT, repairs=False)
    assert [block["text"] for m in lowered.messages for block in m["content"]] == ["q", "y"]
    assert ("m1", "") in lowered.notes and ("m3", "") in lowered.notes


def test_pending_and_running_calls_get_an_interrupted_result_and_unknown_states_none():
    messages = sent(CHAT, assistant(START, tool("c1", "pending"), tool("c2", "running"), tool("c3", "waiting")))
    assert [call["id"] for call in messages[0]["tool_calls"]] == ["c1", "c2"]
    assert {m["content"] for m in messages[1:]} == {"[Tool execution was interrupted]"}


def test_with_repairs_twins_collapse_to_the_most_informative_at_the_place_of_the_first():
    row = assistant(START, tool("c", "error"), text("A"), tool("d"), START, tool("c", output="good"), FINISH)
    twice = sent(CHAT, row)
    assert [c["id"] for m in twice if m["role"] == "assistant" for c in m["tool_calls"]] == ["c", "d", "c"]
    once = sent(CHAT, row, repairs=True)
    assert [m["role"] for m in once] == ["assistant", "tool", "tool"]
    assert [c["id"] for c in once[0]["tool_calls"]] == ["c", "d"]
    assert [m["content"] for m in once[1:]] == ["good", "out"]


def test_with_repairs_a_failed_step_that_lost_its_thinking_loses_its_tools_on_claude():
    lost = assistant(
        START, {"type": "reasoning", "text": ""}, tool("c1"), text("said"), error=ABORTED, modelID="claude-1"
    )
    kept = sent(CLAUDE, lost)
    assert [block["type"] for block in kept[0]["content"]] == ["text", "tool_use"]
    assert [m["content"] for m in sent(CLAUDE, lost, repairs=True)] == [[{"type": "text", "text": "said"}]]
    with_text = assistant(START, {"type": "reasoning", "text": "hm"}, tool("c1"), error=ABORTED, modelID="claude-1")
    assert sent(CLAUDE, with_text, repairs=True) == sent(CLAUDE, with_text)


@pytest.mark.parametrize(
    ("revert", "left"),
    [
        ('{"messageID":"m2"}', ["m0p0", "m1p0", "m1p1"]),
        ('{"messageID":"m1","partID":"m1p1"}', ["m0p0", "m1p0"]),
        ('{"messageID":"m1","partID":"nope"}', ["m0p0", "m1p0", "m1p1"]),
        ('{"messageID":"nope"}', ["m0p0", "m1p0", "m1p1", "m2p0"]),
        ({"messageID": "m0"}, []),
        ("null", ["m0p0", "m1p0", "m1p1", "m2p0"]),
        (None, ["m0p0", "m1p0", "m1p1", "m2p0"]),
    ],
)
def test_a_pending_revert_takes_away_what_the_next_prompt_will_delete(revert, left):
    rows = (user(text("q")), assistant(text("a"), text("b")), user(text("r")))
    lowered = lower(session(*rows, revert=revert), CHAT, repairs=False)
    assert [origin.part for origins in lowered.origins for origin in origins] == left


def compaction(**more):
    return {"type": "compaction", "auto": True, **more}


def summary(of, **more):
    return assistant(text("sum"), parentID=of, summary=True, **more)


def test_history_starts_at_the_last_finished_compaction():
    rows = (user(text("old")), user(compaction()), summary("m1"), user(text("new")))
    assert [m["content"] for m in sent(CHAT, *rows)] == ["What did we do so far?", "sum", "new"]


def test_the_tail_a_compaction_keeps_comes_behind_its_summary():
    rows = (
        user(text("old")),
        user(text("tail")),
        user(compaction(tail_start_id="m1")),
        summary("m2"),
        user(text("new")),
    )
    assert [m["content"] for m in sent(CHAT, *rows)] == ["What did we do so far?", "sum", "tail", "new"]


def test_of_two_compactions_with_a_tail_the_newest_is_moved_and_the_older_stays_in_the_tail():
    rows = (
        user(text("gone")),
        user(text("t1")),
        user(compaction(tail_start_id="m1")),
        summary("m2"),
        user(text("t2")),
        user(compaction(tail_start_id="m1")),
        summary("m5"),
        user(text("new")),
    )
    words = [m["content"] for m in sent(CHAT, *rows)]
    ask = "What did we do so far?"
    assert words == [ask, "sum", "t1", ask, "sum", "t2", "new"]


@pytest.mark.parametrize("broken", [{"error": {"name": "X"}}, {"finish": None}, {"parentID": "nobody"}])
def test_a_summary_that_did_not_finish_cuts_nothing(broken):
    rows = (user(text("old")), user(compaction()), summary("m1"), user(text("new")))
    rows[2][0].update(broken)
    assert sent(CHAT, *rows)[0]["content"] == "old"


@for_each("name", AFTER_TASK)
def test_a_session_whose_first_request_was_a_summary_opens_with_compaction(name):
    assert opens_with_task(decode(corpus_rows(name, RECORDINGS[name]["session"]))) == "compaction"


@for_each("name", [name for name in TURNS if RECORDINGS[name]["requests"] == ["turn"]], one_in=2)
def test_a_session_whose_first_request_was_the_turn_opens_with_no_task(name):
    assert opens_with_task(decode(corpus_rows(name, RECORDINGS[name]["session"]))) is None


def test_an_open_subtask_is_run_first():
    assert opens_with_task(session(user(text("q")), assistant(text("a")), user({"type": "subtask"}))) == "subtask"


def test_mistral_ids_are_nine_characters_and_an_answer_stands_between_results_and_user():
    target = replace(CHAT, model="devstral-1")
    messages = sent(target, assistant(START, tool("x-1"), tool("functions.bash:0")), user(text("q")))
    assert [call["id"] for call in messages[0]["tool_calls"]] == ["x10000000", "functions"]
    assert messages[3] == {"role": "assistant", "content": "Done."}


def test_deepseek_gets_its_reasoning_field_on_every_answer():
    messages = sent(replace(CHAT, model="deepseek-v4"), assistant(START, text("a")), assistant(START, tool("c")))
    assert [m["reasoning_content"] for m in messages if m["role"] == "assistant"] == ["", ""]


def test_numbers_and_surrogates_are_written_as_javascript_writes_them():
    raw = json.loads('{"b": 1e400, "1": 12345678901234567890, "s": "\\ud83d"}')
    [call, _] = sent(CHAT, assistant(START, tool("c", input=raw)))
    assert call["tool_calls"][0]["function"]["arguments"] == '{"1":12345678901234567000,"b":null,"s":"\\ud83d"}'
    assert sent(CHAT, user(text("\ud83d")))[0]["content"] == "\ufffd"


def test_a_row_that_is_not_json_stops_the_session():
    rows = session(user(text("q")))
    rows.rows.parts[0]["data"] = "{"
    with pytest.raises(LoweringError) as caught:
        lower(decode(rows.rows), CHAT)
    assert caught.value.words == "Unexpected server error. Check server logs for details."
    assert caught.value.origin == ("m0", "m0p0")


def test_a_session_column_that_is_not_json_stops_the_session():
    broken = session(user(text("q")), revert="{")
    assert [(fault.table, fault.path, fault.fatal) for fault in broken.faults if fault.rule == "corrupt-json"] == [
        ("session", "revert", True)
    ]
    with pytest.raises(LoweringError):
        lower(broken, CHAT)


def test_a_broken_part_that_is_not_replayed_stops_nothing():
    broken = {"type": "text"}
    rows = (user(text("old"), broken), user(compaction()), summary("m1"))
    assert sent(CHAT, *rows)[1]["content"] == "sum"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
known = st.sampled_from(
    [
        "type",
        "text",
        "metadata",
        "state",
        "callID",
        "tool",
        "mime",
        "url",
        "filename",
        "synthetic",
        "ignored",
        "auto",
        "tail_start_id",
    ]
)
states = st.dictionaries(
    st.sampled_from(["status", "input", "output", "error", "metadata", "time", "attachments"]), json_values
)


@st.composite
def parts(draw):
    part = draw(st.dictionaries(known, json_values, max_size=5))
    part["type"] = draw(
        st.sampled_from(["text", "reasoning", "tool", "file", "compaction", "step-start", "patch", "new-kind"])
    )
    if draw(st.booleans()):
        part["state"] = draw(states) | {"status": draw(st.sampled_from(["completed", "error", "pending", "odd"]))}
    if draw(st.booleans()):
        part["state"] = (
            {**part["state"], "attachments": [draw(json_values), file("image/png", PNG)]}
            if isinstance(part.get("state"), dict)
            else 1
        )
    return part


@given(st.lists(parts(), max_size=4), st.sampled_from(PROTOCOLS), st.booleans())
def test_whatever_is_stored_the_outcome_is_a_body_or_a_refusal(stored, protocol, repairs):
    history = session(user(*stored), assistant(*copy.deepcopy(stored), modelID="claude-1"))
    target = make_target("acme", "claude-1", protocol=protocol)
    try:
        result = body(history, target, repairs, next_prompt="continue")
    except LoweringError as error:
        assert error.words
    else:
        json.dumps(result.body, allow_nan=False)
