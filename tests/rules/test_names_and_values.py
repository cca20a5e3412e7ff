"""Ids, names, arguments, Unicode, media, sizes (docs/contract/rules.md#2.3, #2.10, #2.14, #2.15, #2.22, #2.23)."""

from __future__ import annotations

import base64

import pytest

from sessions_app.domain.wire.target import make_target
from tests.factories.sessions import (
    BEDROCK,
    CHAT,
    CLAUDE,
    CLAUDE_THINKING,
    KIMI,
    RESPONSES,
    V1,
    V2,
    codes,
    data_of,
    findings,
    finish,
    found,
    reasoning,
    repaired,
    scanned,
    start,
    tool,
)

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0"
SIGNED = "c2lnbmF0dXJl"


def url(mime: str, blob: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(blob).decode()}"


def one_call(target, **fields):
    part = tool("call_1")
    part |= fields
    return V1(target).user("go").assistant(start(), part, finish()).user("on").decoded()


def test_ids_that_the_scrub_makes_equal_are_told_apart() -> None:
    history = V1(CLAUDE).user("go").assistant(start(), tool("functions.bash:0"), finish(), target=KIMI)
    session = history.assistant(start(), tool("functions_bash.0"), finish(), target=KIMI).user("on").decoded()
    assert scanned(session, CLAUDE).health == "blocked"
    assert {one.severity for one in findings(session, CLAUDE) if one.rule == "call-id-charset"} == {
        "blocked",
        "info",
    }
    after = repaired(session, CLAUDE, safety="safe")
    assert scanned(after, CLAUDE).health != "blocked"


def test_mistral_ids_with_a_common_beginning_are_told_apart() -> None:
    target = make_target("mistral", "mistral-large")
    session = (
        V1(target).user("go").assistant(start(), tool("call_abcdefgh1"), tool("call_abcdefgh2"), finish()).decoded()
    )
    assert scanned(session, target).health == "blocked"
    assert scanned(repaired(session, target, safety="safe"), target).health != "blocked"


def test_the_id_of_one_provider_is_not_rewritten_for_a_target_that_takes_it() -> None:
    assert not codes(one_call(KIMI, callID="functions.bash:0"), KIMI)


@pytest.mark.parametrize("name", ["browser.tabs.open", "$lookup", "", " exec", "x" * 80, "a\0b"])
def test_a_tool_name_is_made_sendable_and_the_original_kept(name: str) -> None:
    session = one_call(BEDROCK, tool=name)
    assert found(session, "tool-name-invalid", BEDROCK).safety == "safe"
    data = data_of(repaired(session, BEDROCK, safety="safe"), "prt_0002_02")
    assert 1 <= len(data["tool"]) <= 64 and data["tool"].replace("_", "").isalnum()
    assert data["state"]["metadata"]["originalName"] == name
    assert data["callID"] == "call_1" and data["state"]["output"] == "done"


def test_a_made_up_name_is_never_mapped_to_a_real_tool() -> None:
    assert data_of(repaired(one_call(RESPONSES, tool="Bash.run"), RESPONSES), "prt_0002_02")["tool"] == "Bash_run"


@pytest.mark.parametrize("value", [[1, 2], None, "{cut", 7, True])
def test_arguments_that_are_no_object_become_one_and_nothing_is_guessed(value: object) -> None:
    part = tool("call_1", input=value)
    session = V1(CLAUDE).user("go").assistant(start(), part, finish()).user("on").decoded()
    assert found(session, "tool-input-malformed", CLAUDE).severity == "blocked"
    after = repaired(session, CLAUDE, safety="safe")
    state = data_of(after, "prt_0002_02")["state"]
    assert state["input"] == {} and state["status"] == "completed" and state["output"] == "done"
    assert scanned(after, CLAUDE).health == "healthy"


def test_arguments_stored_as_text_keep_every_byte_of_the_object() -> None:
    part = tool("call_1", input='{"n": 12345678901234567890, "f": 1.0}')
    after = repaired(V1(CLAUDE).user("go").assistant(start(), part, finish()).decoded(), CLAUDE, safety="safe")
    stored = after.part("prt_0002_02")
    assert stored is not None and '"input":{"n": 12345678901234567890, "f": 1.0}' in stored.raw.replace('": {', '":{')


def test_empty_arguments_of_an_aborted_call_are_legal() -> None:
    assert not codes(one_call(CLAUDE, state={**tool("c", "error")["state"], "input": {}}), CLAUDE)


def test_half_an_emoji_in_arguments_is_info_on_chat() -> None:
    part = tool("call_1", input={"pattern": "\ud83d"})
    session = V1(CHAT).user("go").assistant(start(), part, finish()).user("on").decoded()
    assert found(session, "invalid-unicode", CHAT).severity == "info"


def test_signed_thinking_with_half_an_emoji_is_dropped_whole_never_edited() -> None:
    session = (
        V1(CLAUDE_THINKING).user("a").assistant(start(), reasoning("x\ud83d", SIGNED), "ok", finish("stop")).decoded()
    )
    finding = found(session, "invalid-unicode", CLAUDE_THINKING)
    assert finding.safety == "lossy" and [one.action for one in finding.choices[0].operations] == ["delete"]


def test_a_nul_in_an_output_is_replaced_on_request_and_the_rest_kept() -> None:
    part = tool("call_1", output="a\0b \U0001f600")
    session = V1(CHAT).user("go").assistant(start(), part, finish()).decoded()
    after = repaired(session, CHAT, rules=["invalid-unicode"], safety="safe")
    assert data_of(after, "prt_0002_02")["state"]["output"] == "a\ufffdb \U0001f600"


def test_a_wrong_label_is_corrected_and_the_bytes_stay() -> None:
    picture = {
        "type": "file",
        "mime": "image/png",
        "url": url("image/png", b"\xff\xd8\xff\xe0" + bytes(60)),
        "filename": "a.png",
    }
    session = V1(CLAUDE).user("look", picture).decoded()
    assert found(session, "media-rejected", CLAUDE).safety == "safe"
    data = data_of(repaired(session, CLAUDE, safety="safe"), "prt_0001_02")
    assert data["mime"] == "image/jpeg" and data["url"] == picture["url"].replace("image/png", "image/jpeg")


def test_an_undecodable_picture_becomes_a_note_and_the_good_one_stays() -> None:
    bad = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,%%%", "filename": "bad.png"}
    good = {"type": "file", "mime": "image/png", "url": url("image/png", PNG), "filename": "good.png"}
    after = repaired(V1(CLAUDE).user("look", bad, good).decoded(), CLAUDE)
    note = data_of(after, "prt_0001_02")
    assert note["type"] == "text" and "bad.png" in note["text"] and "cannot be decoded" in note["text"]
    assert data_of(after, "prt_0001_03") == good


def test_a_file_that_stops_the_client_is_named_with_its_words() -> None:
    archive = {
        "type": "file",
        "mime": "application/zip",
        "url": url("application/zip", b"PK"),
        "filename": "a.zip",
    }
    session = V1(CLAUDE).user("look", archive).decoded()
    result = scanned(session, CLAUDE)
    assert result.health == "blocked" and "application/zip" in found(session, "media-rejected", CLAUDE).details["error"]
    assert scanned(repaired(session, CLAUDE), CLAUDE).health == "healthy"


def test_a_picture_in_a_v2_result_becomes_a_text_entry() -> None:
    history = V2(CLAUDE, 3)
    picture = {"type": "file", "uri": "data:image/png;base64,%%%", "mime": "image/png", "name": "a.png"}
    call = history.tool("t", content=[{"type": "text", "text": "read"}, picture])
    after = repaired(history.user("go").assistant(call).decoded(), CLAUDE)
    content = data_of(after, "msg_0002#0")["state"]["content"]
    assert content[0] == {"type": "text", "text": "read"} and content[1]["type"] == "text" and not after.faults


def test_a_huge_output_is_marked_compacted_and_stays_stored() -> None:
    session = V1(CHAT).user("go").assistant(start(), tool("c", output="x" * 400_000), finish()).user("on").decoded()
    finding = found(session, "huge-output", CHAT)
    assert finding.safety == "lossy" and [choice.name for choice in finding.choices] == [
        "compact",
        "truncate",
    ]
    state = data_of(repaired(session, CHAT), "prt_0002_02")["state"]
    assert len(state["output"]) == 400_000 and isinstance(state["time"]["compacted"], int)
    cut = data_of(repaired(session, CHAT, choices={"huge-output": "truncate"}), "prt_0002_02")["state"]
    assert "400000 characters in all" in cut["output"] and cut["status"] == "completed"


def test_an_overflow_the_session_recorded_is_at_risk() -> None:
    words = {"name": "APIError", "data": {"message": "prompt is too long: 225981 tokens > 200000 maximum"}}
    history = (
        V1(CLAUDE)
        .user("a")
        .assistant(start(), tool("c", output="y" * 9000), finish())
        .user("b")
        .assistant(start(), "x", finish())
    )
    session = history.user("c").assistant(error=words).decoded()
    assert found(session, "context-overflow", CLAUDE).severity == "at-risk"
    after = repaired(session, CLAUDE, rules=["context-overflow"])
    assert data_of(after, "prt_0002_02")["state"]["time"]["compacted"]
