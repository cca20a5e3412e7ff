"""Lowering where no golden of that generation is at hand, by the table of docs/contract/formats.md#b3."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain.dialects.opencode_v2 import decode_messages
from sessions_app.domain.lowering.fileurl import local_path
from sessions_app.domain.lowering.v2 import lower_messages
from sessions_app.domain.model import SessionRows
from sessions_app.domain.wire.lowered import Lowered, LoweringError, Origin
from sessions_app.domain.wire.target import Target
from tests.factories.goldens import v2_rows

MODEL = {"providerID": "provider", "id": "model"}
OLD = {"providerID": "provider", "id": "old"}
PNG = {"mime": "image/png", "data": "aGVsbG8=", "source": {"type": "inline"}}


def lowered(generation: int, *messages: dict[str, Any], repairs: bool = True, provider: str = "provider") -> Lowered:
    whole = [{"id": f"msg_{at}", "time": {"created": 0}, **message} for at, message in enumerate(messages)]
    decoded, faults = decode_messages(SessionRows({"id": "ses"}, session_message=v2_rows(whole)), generation)
    assert not faults
    return lower_messages(decoded, Target("openai-chat", provider, "model"), repairs)


def sent(generation: int, *messages: dict[str, Any], repairs: bool = True) -> list[dict[str, Any]]:
    return lowered(generation, *messages, repairs=repairs).messages


def content(generation: int, message: dict[str, Any]) -> list[dict[str, Any]]:
    messages = sent(generation, message)
    return messages[0]["content"] if messages else []


def user(text: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "user", "text": text, **more}


def assistant(*items: dict[str, Any], model: dict[str, Any] = MODEL, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "agent": "build", "model": model, "content": list(items), **more}


def completed(generation: int, call: str = "c", **more: Any) -> dict[str, Any]:
    state: dict[str, Any] = {"status": "completed", "input": {}, "content": [{"type": "text", "text": "out"}]}
    if generation < 3:
        state["structured"] = {}
    return {"type": "tool", "id": call, "name": "read", "time": {"created": 0}, "state": state, **more}


ERROR = {"type": "unknown", "message": "boom"}


def switched(variant: str | None, previous: str | None) -> dict[str, Any]:
    model, before = dict(MODEL), dict(MODEL)
    if variant is not None:
        model["variant"] = variant
    if previous is not None:
        before["variant"] = previous
    return {"type": "model-switched", "model": model, "previous": before}


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (switched("high", None), {"type": "effort", "effort": "high"}),
        (switched(None, "max"), {"type": "effort", "previous": "max"}),
        (switched("none", "xhigh"), {"type": "effort", "effort": "none", "previous": "xhigh"}),
        (switched("default", "minimal"), {"type": "effort", "previous": "minimal"}),
        (switched("low", "default"), {"type": "effort", "effort": "low"}),
        (switched("medium", "thinking"), None),
        (switched("fancy", "medium"), None),
        ({**switched("high", "low"), "previous": OLD}, None),
        ({"type": "model-switched", "model": {**MODEL, "variant": "high"}}, None),
    ],
)
def test_generation_3_tells_the_model_of_a_new_effort(message: dict[str, Any], part: dict[str, Any] | None) -> None:
    expected = [] if part is None else [{"role": "system", "content": [part]}]
    assert sent(3, message) == expected
    assert sent(1, message) == sent(2, message) == []


def test_generation_3_puts_skills_before_the_text_and_leaves_references_out() -> None:
    skills = [{"id": "a", "name": "A", "text": "do a"}, {"id": "b", "name": "B"}]
    assert [part["text"] for part in content(3, user("x", skills=skills))] == ["do a", "x"]
    assert sent(3, user("", skills=skills[1:])) == []


def test_generation_3_says_where_the_session_moved() -> None:
    message = {"type": "location-switched", "location": {"directory": "/p/q"}, "metadata": {"k": 1}}
    assert sent(3, message) == [
        {
            "id": "msg_0",
            "role": "user",
            "content": [{"type": "text", "text": "The working directory has been changed to /p/q."}],
            "metadata": {"k": 1},
        }
    ]


def test_idle_and_agent_rows_are_not_sent() -> None:
    assert (
        sent(3, {"type": "idle", "outcome": "failed", "error": ERROR}, {"type": "agent-switched", "agent": "x"}) == []
    )


@pytest.mark.parametrize("generation", [2, 3])
def test_a_shell_row_without_output_has_an_empty_one(generation: int) -> None:
    shell = {"type": "shell", "shellID": "sh_1", "command": "ls", "status": "running"}
    assert content(generation, shell)[0]["text"].endswith("ls\n\n" if generation == 2 else "ls\n\nOutput:\n")


def test_generation_3_leaves_out_a_shell_command_in_the_background() -> None:
    shell = {"type": "shell", "shellID": "sh_1", "command": "ls", "status": "running"}
    assert sent(3, {**shell, "metadata": {"background": True}}) == []
    assert len(sent(3, {**shell, "metadata": {"background": "yes"}})) == 1
    assert len(sent(2, {**shell, "metadata": {"background": True}})) == 1


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_only_generation_1_keeps_the_metadata_of_synthetic_text(generation: int) -> None:
    synthetic = {"type": "synthetic", "sessionID": "ses", "text": "s", "metadata": {"k": 1}}
    assert ("metadata" in sent(generation, synthetic)[0]) is (generation == 1)


def test_generation_3_sends_pdfs_and_names_local_files_before_their_media() -> None:
    pdf = {
        "mime": "application/pdf",
        "data": "JVBERg==",
        "source": {"type": "uri", "uri": "file:///p/a%20b.pdf"},
    }
    text, media = content(3, user("", files=[{**pdf, "name": "a.pdf", "description": "d"}]))
    assert text == {"type": "text", "text": "Attached file: /p/a b.pdf"}
    assert media == {
        "type": "media",
        "media": {"source": {"type": "base64", "data": "JVBERg==", "mediaType": "application/pdf"}},
        "filename": "a.pdf",
        "metadata": {"description": "d"},
    }
    assert sent(2, user("", files=[pdf])) == []


def mentioned(text: str = "@i", **more: Any) -> dict[str, Any]:
    return {**PNG, "mention": {"start": 0, "end": 2, "text": text}, **more}


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ([mentioned(), mentioned()], 1),
        ([mentioned(), mentioned(name="other")], 2),
        ([mentioned(), mentioned(description="other")], 2),
        ([mentioned(), mentioned("@j")], 2),
        ([mentioned(), mentioned(data="aGk=")], 2),
        ([mentioned(), {**PNG}, {**PNG}], 3),
        ([mentioned(), mentioned(), {**PNG}], 2),
        ([mentioned(""), mentioned("")], 2),
        ([mentioned(), mentioned(source={"type": "uri", "uri": "https://x"})], 2),
        ([mentioned(), mentioned(data="aGk="), mentioned()], 2),
    ],
)
def test_generation_3_collapses_exact_repeats_of_a_mentioned_inline_image(
    files: list[dict[str, Any]], kept: int
) -> None:
    assert len(content(3, user("", files=files))) == kept


def test_generation_3_names_a_directory_by_its_path_and_then_by_its_name() -> None:
    listing = {"mime": "application/x-directory", "data": "", "name": "src/"}
    texts = [
        content(3, user("", files=[{**listing, "source": source}]))[0]["text"]
        for source in (
            {"type": "uri", "uri": "file:///p/src"},
            {"type": "uri", "uri": "https://x/s"},
            {"type": "inline"},
        )
    ]
    assert texts == [
        "\n\nAttached directory: /p/src",
        "\n\nAttached directory: src/",
        "\n\nAttached directory: src/",
    ]


def test_agents_are_sent_with_the_keys_the_client_knows_and_replace_those_of_the_metadata() -> None:
    agent = {"x": 1, "source": {"text": "@b", "end": 2, "start": 0, "y": 2}, "name": "b"}
    made = sent(1, user(agents=[agent], metadata={"agents": "old", "k": 1}))[0]
    assert list(made["metadata"]) == ["agents", "k"]
    assert made["metadata"]["agents"] == [{"name": "b", "source": {"start": 0, "end": 2, "text": "@b"}}]
    assert list(made["metadata"]["agents"][0]["source"]) == ["start", "end", "text"]


def test_entries_and_errors_of_tools_are_sent_with_the_keys_the_client_knows() -> None:
    entry = {"name": "i.png", "mime": "image/png", "novel": 1, "uri": "data:", "type": "file"}
    error = {"status": 429, "message": "slow", "type": "rate", "novel": 1}
    state = {"status": "error", "input": {}, "structured": {}, "content": [entry], "error": error}
    tool = {"type": "tool", "id": "c", "name": "n", "time": {"created": 0}, "state": state}
    value = sent(2, assistant(tool))[1]["content"][0]["result"]["value"]
    assert list(value) == ["error", "content", "structured"]
    assert list(value["error"].items()) == [("type", "rate"), ("message", "slow"), ("status", 429)]
    assert list(value["content"][0].items()) == [
        ("type", "file"),
        ("uri", "data:"),
        ("mime", "image/png"),
        ("name", "i.png"),
    ]


def test_generation_3_sends_interrupted_reasoning_as_text_without_state() -> None:
    closed = {
        "type": "reasoning",
        "text": "closed",
        "state": {"s": 1},
        "time": {"created": 0, "completed": 1},
    }
    broken = {"type": "reasoning", "text": "open", "state": {"s": 2}, "time": {"created": 0}}
    empty = {"type": "reasoning", "text": "", "state": {"s": 3}}
    turn = assistant(closed, broken, empty, completed(3, providerState={"k": 1}))
    parts = content(3, turn)
    assert parts[:2] == [{"type": "text", "text": "closed"}, {"type": "text", "text": "open"}]
    assert parts[2]["providerMetadata"] == {"provider": {"k": 1}}
    assert [part["type"] for part in content(2, assistant(closed, broken))] == ["reasoning", "reasoning"]


def test_generation_3_text_carries_its_state_to_the_same_model_only() -> None:
    text = {"type": "text", "text": "t", "state": {"thoughtSignature": "s"}}
    assert content(3, assistant(text))[0]["providerMetadata"] == {"provider": {"thoughtSignature": "s"}}
    assert "providerMetadata" not in content(3, assistant(text, model=OLD))[0]
    assert "providerMetadata" not in content(3, assistant(text, error=ERROR))[0]


@pytest.mark.parametrize(
    ("turn", "call", "result"),
    [
        ({}, {"a": 1}, {"b": 2}),
        ({"error": ERROR}, {"a": 1}, {"b": 2}),
        ({"model": OLD}, None, {"b": 2}),
        ({"model": OLD, "error": ERROR}, None, {"b": 2}),
        ({"model": {"providerID": "other", "id": "model"}}, None, None),
    ],
)
def test_generation_3_hosted_tools_keep_what_belongs_to_the_provider(
    turn: dict[str, Any], call: Any, result: Any
) -> None:
    tool = completed(3, executed=True, providerState={"a": 1}, providerResultState={"b": 2})
    parts = content(3, assistant(tool, **turn))
    keyed = [part.get("providerMetadata", {}).get("provider") for part in parts]
    assert keyed == [call, result]


def test_a_hosted_result_never_falls_back_to_the_call_state_of_another_model() -> None:
    parts = content(3, assistant(completed(3, executed=True, providerState={"a": 1}), model=OLD))
    assert all("providerMetadata" not in part for part in parts)


@pytest.mark.parametrize("generation", [2, 3])
def test_both_spellings_of_provider_state_are_read_and_native_wins(generation: int) -> None:
    reasoning = {"type": "reasoning", "text": "r", "native": {"n": 1}, "state": {"s": 1}}
    tool = completed(generation, native={"n": 2}, providerState={"s": 2})
    turn = sent(generation, assistant(reasoning, tool))
    assert [part["providerMetadata"] for part in turn[0]["content"]] == [
        {"provider": {"n": 1}},
        {"provider": {"n": 2}},
    ]
    assert turn[1]["content"][0]["providerMetadata"] == {"provider": {"n": 2}}


def test_provider_state_is_keyed_by_the_route_where_the_provider_id_is_another_word() -> None:
    turn = assistant(
        {"type": "reasoning", "text": "r", "state": {"signature": "s"}},
        model={"providerID": "amazon-bedrock", "id": "model"},
    )
    made = lowered(3, turn, provider="amazon-bedrock").messages
    assert made[0]["content"][0]["providerMetadata"] == {"bedrock": {"signature": "s"}}


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_a_failed_turn_that_lost_its_thinking_is_sent_without_tools(generation: int) -> None:
    thinking = {"type": "reasoning", "text": "", "id": "prt"}
    turn = assistant(thinking, {"type": "text", "text": "t", "id": "prt"}, completed(generation), error=ERROR)
    assert [message["role"] for message in sent(generation, turn)] == ["assistant"]
    assert [message["role"] for message in sent(generation, turn, repairs=False)] == ["assistant", "tool"]
    kept = sent(generation, {**turn, "model": OLD})
    assert [message["role"] for message in kept] == ["assistant", "tool"]
    spoken = assistant({**thinking, "text": "because"}, completed(generation), error=ERROR)
    assert [message["role"] for message in sent(generation, spoken)] == ["assistant", "tool"]


@pytest.mark.parametrize("generation", [1, 2])
@pytest.mark.parametrize(
    ("value", "place"),
    [("nope", ""), ([{"type": "media"}], "[0]"), ([{"type": "text"}], '[0]["text"]'), ({}, "")],
)
def test_a_stored_content_result_that_is_none_stops_the_lowering(generation: int, value: Any, place: str) -> None:
    tool = completed(generation)
    tool |= {"provider": {"executed": True}} if generation == 1 else {"executed": True}
    tool["state"]["result"] = {"type": "content", "value": value}
    with pytest.raises(LoweringError) as caught:
        sent(generation, assistant({"type": "text", "text": "", "id": "p"}, tool))
    assert caught.value.kind == "lower"
    assert caught.value.words.endswith('at ["content"][1]["result"]["value"]' + place)
    assert caught.value.origin == Origin("msg_0", "msg_0#1")


def test_what_is_left_out_is_noted() -> None:
    turn = assistant(
        {"type": "text", "text": ""}, completed(3, "d"), completed(3, "d"), {"type": "reasoning", "text": ""}
    )
    made = lowered(3, turn, user(""))
    assert [origin.part for origin in made.notes] == ["msg_0#2", "msg_0#0", "msg_0#3", ""]
    assert made.notes[-1].message == "msg_1"
    assert [[origin.part for origin in origins] for origins in made.origins] == [["msg_0#1"], ["msg_0#1"]]


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///p/a%20b.txt", "/p/a b.txt"),
        ("FILE:/a/b", "/a/b"),
        ("file:foo", "/foo"),
        ("file://localhost/x", "/x"),
        ("file:///p/../x/./y/%2e%2E/z?q#f", "/x/z"),
        ("file:////x//y", "//x//y"),
        ("file://", "/"),
        ("file:///a/..", "/"),
        ("file:///.../.b", "/.../.b"),
        ("file:///a\\b", "/a/b"),
        ("file:///C:/x", "/C:/x"),
        ("file:///é", "/é"),
        ("file://host/x", None),
        ("file:///a%2Fb", None),
        ("file:///a%zz", None),
        ("file:///a%ff", None),
        ("https://host/a", None),
        ("", None),
    ],
)
def test_local_paths_of_file_urls_are_the_runtimes(uri: str, path: str | None) -> None:
    """Recorded with fileURLToPath of a real runtime."""
    assert local_path(uri) == path
