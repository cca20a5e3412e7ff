"""The V2 writers where no golden leads: caches, media limits, native system updates, odd parts, provenance."""

from __future__ import annotations

import base64
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from sessions_app.domain import jsjson
from sessions_app.domain.protocols import v2_common
from sessions_app.domain.wire.lowered import Body, Lowered, LoweringError, Origin
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from sessions_app.domain.wire.target import Target

TEXT = {"type": "text", "text": "t"}
CALL = {"type": "tool-call", "id": "c", "name": "read", "input": {}}
RESULT = {"type": "tool-result", "id": "c", "name": "read", "result": {"type": "text", "value": "out"}}
ROUTES = {
    "anthropic-messages": "Anthropic Messages",
    "openai-chat": "OpenAI Chat",
    "openai-responses": "OpenAI Responses",
    "gemini": "Gemini",
    "bedrock-converse": "Bedrock Converse",
}
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def history(*messages: tuple[str, list[dict[str, Any]]]) -> Lowered:
    lowered = Lowered([], [])
    for at, (role, content) in enumerate(messages):
        lowered.messages.append({"role": role, "content": content})
        lowered.origins.append([Origin(f"msg_{at}", f"msg_{at}#{index}") for index in range(len(content))])
    return lowered


def write(
    protocol: ProtocolName, *messages: tuple[str, list[dict[str, Any]]], model: str = "m", **options: Any
) -> Body:
    package = f"sessions_app.domain.protocols.{protocol.replace('-', '_')}.v2"
    writer: Callable[..., Body] = import_module(package).write
    return writer(history(*messages), Target(protocol, "p", model), **options)


def image(data: str = "aGVsbG8=", kind: str = "image/png") -> dict[str, Any]:
    return {"type": "media", "mediaType": kind, "data": data}


@every_protocol
@pytest.mark.parametrize(
    ("part", "words"),
    [
        (image(kind="text/x"), "does not support media type text/x"),
        (image("data:image/png,plain"), "media data URL must contain valid base64"),
        (
            image("data:image/gif;base64,aGVsbG8="),
            "media type image/png does not match data URL type image/gif",
        ),
        (image(""), "media must contain valid base64"),
        (image("aGVsbG8"), "media must contain valid base64"),
        (image("aGVsbG9="), "media must contain canonical base64"),
        (image("A" * (v2_common.ENCODED_LIMIT + 4)), "media exceeds the 29360128 byte encoded limit"),
        (image("A" * (21 * 1024 * 1024 // 3 * 4)), "media exceeds the 20971520 byte decoded limit"),
    ],
)
def test_media_the_client_does_not_send_is_refused_with_its_words(
    protocol: ProtocolName, part: dict[str, Any], words: str
) -> None:
    with pytest.raises(LoweringError) as caught:
        write(protocol, ("user", [TEXT, part]))
    assert (caught.value.kind, caught.value.words) == ("InvalidRequest", f"{ROUTES[protocol]} {words}")
    assert caught.value.origin == Origin("msg_0", "msg_0#1")


@every_protocol
def test_media_types_are_compared_and_sent_in_lower_case(protocol: ProtocolName) -> None:
    body = write(protocol, ("user", [image("data:IMAGE/png;base64,aGVsbG8=", "Image/PNG")]))
    assert "png" in jsjson.dumps(body.body)
    assert "PNG" not in jsjson.dumps(body.body)


def test_gemini_takes_sound_and_film() -> None:
    part = {
        "type": "media",
        "media": {"source": {"type": "base64", "mediaType": "audio/wav", "data": "aGk="}},
    }
    body = write("gemini", ("user", [part]))
    assert body.body["contents"][0]["parts"] == [{"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}]


def test_bedrock_names_documents_and_knows_the_other_spelling_of_jpeg() -> None:
    pdf = image("aGk=", "application/pdf")
    body = write("bedrock-converse", ("user", [pdf, {**pdf, "filename": "a b.pdf"}, image("aGk=", "image/jpg")]))
    first, second, third = body.body["messages"][0]["content"]
    assert (first["document"]["name"], second["document"]["name"]) == ("document.pdf", "a b.pdf")
    assert third["image"]["format"] == "jpeg"


@every_protocol
def test_parts_a_role_cannot_carry_are_refused(protocol: ProtocolName) -> None:
    for role, part in (("user", CALL), ("assistant", image()), ("tool", TEXT)):
        with pytest.raises(LoweringError) as caught:
            write(protocol, (role, [part]))
        assert caught.value.words.startswith(f"{ROUTES[protocol]} {role} messages only support ")
        assert caught.value.words.endswith(" content for now")
    with pytest.raises(LoweringError, match="system messages only support text content for now"):
        write(protocol, ("system", [TEXT, image()]))


@every_protocol
def test_effort_updates_are_left_out(protocol: ProtocolName) -> None:
    effort = ("system", [{"type": "effort", "effort": "high"}])
    body = write(protocol, ("user", [TEXT]), effort, ("assistant", [TEXT]))
    assert body.body == write(protocol, ("user", [TEXT]), ("assistant", [TEXT])).body
    origins = {origin.message for origin in body.provenance.values()} - {""}
    assert origins == {"msg_0", "msg_2"}


@every_protocol
def test_system_updates_join_the_users_message_before_them_and_cannot_close_their_wrapper(
    protocol: ProtocolName,
) -> None:
    update = ("system", [{"type": "text", "text": "</system-update> & <b>"}])
    text = jsjson.dumps(write(protocol, ("user", [TEXT]), update, update).body)
    assert text.count("<system-update>\\n&lt;/system-update&gt; &amp; &lt;b&gt;\\n</system-update>") == 2
    assert text.count('"role":"user"') == 1


NATIVE = "claude-opus-4-8"
HOSTED = {**CALL, "providerExecuted": True}


@pytest.mark.parametrize(
    ("messages", "native"),
    [
        ([("user", [TEXT]), ("system", [TEXT])], True),
        ([("user", [TEXT]), ("system", [TEXT]), ("assistant", [TEXT])], True),
        ([("assistant", [CALL]), ("tool", [RESULT]), ("system", [TEXT])], True),
        ([("assistant", [HOSTED]), ("system", [TEXT])], True),
        ([("system", [TEXT]), ("assistant", [TEXT])], False),
        ([("user", [TEXT]), ("system", [TEXT]), ("user", [TEXT])], False),
        ([("user", [TEXT]), ("system", [TEXT]), ("system", [TEXT])], False),
        ([("assistant", [TEXT]), ("system", [TEXT])], False),
    ],
)
def test_only_one_model_takes_system_messages_and_only_in_their_place(messages: Any, native: bool) -> None:
    roles = [message["role"] for message in write("anthropic-messages", *messages, model=NATIVE).body["messages"]]
    assert ("system" in roles) is native
    roles = [message["role"] for message in write("anthropic-messages", *messages).body["messages"]]
    assert "system" not in roles


def test_anthropic_refuses_a_system_update_while_a_call_is_open() -> None:
    with pytest.raises(LoweringError, match="cannot split a local tool call"):
        write("anthropic-messages", ("assistant", [CALL]), ("user", [TEXT]), ("system", [TEXT]))
    write("anthropic-messages", ("assistant", [CALL]), ("tool", [RESULT]), ("system", [TEXT]))
    write("anthropic-messages", ("assistant", [HOSTED]), ("system", [TEXT]))


def marks(body: Body) -> list[tuple[int, int]]:
    return [
        (at, index)
        for at, message in enumerate(body.body["messages"])
        for index, block in enumerate(message["content"])
        if "cache_control" in block or "cachePoint" in block
    ]


def test_cache_marks_stand_on_the_last_text_of_the_latest_user_message() -> None:
    messages = [
        ("user", [TEXT]),
        ("assistant", [TEXT]),
        ("user", [TEXT, TEXT, image()]),
        ("assistant", [TEXT]),
    ]
    assert marks(write("anthropic-messages", *messages)) == []
    assert marks(write("anthropic-messages", *messages, cache="auto")) == [(2, 1)]
    assert marks(write("bedrock-converse", *messages, cache="auto")) == [(2, 2)]
    long = {"messages": "latest-assistant", "ttlSeconds": 3600}
    body = write("anthropic-messages", *messages, cache=long)
    assert marks(body) == [(3, 0)]
    assert body.body["messages"][3]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert len(marks(write("anthropic-messages", *[("user", [TEXT])] * 9, cache={"messages": {"tail": 9}}))) == 4


@pytest.mark.parametrize("protocol", ["anthropic-messages", "bedrock-converse"])
def test_a_message_of_images_alone_gets_no_cache_mark(protocol: ProtocolName) -> None:
    assert marks(write(protocol, ("user", [image()]), cache="auto")) == []


def test_images_of_results_wait_for_the_end_of_their_run_in_chat() -> None:
    file = {"type": "file", "uri": "data:image/png;base64,aGk=", "mime": "image/png"}
    found = {**RESULT, "result": {"type": "content", "value": [TEXT, file]}}
    messages: list[Any] = [
        ("assistant", [CALL, {**CALL, "id": "d"}]),
        ("tool", [found]),
        ("tool", [{**RESULT, "id": "d"}]),
    ]
    body = write("openai-chat", *messages, ("user", [TEXT]), placeholder=False)
    assert [message["role"] for message in body.body["messages"]] == [
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert body.provenance["messages", 3, "content", 0] == Origin("msg_1", "msg_1#0")
    body = write("openai-chat", *messages, ("system", [TEXT]), placeholder=False)
    assert [part["type"] for part in body.body["messages"][3]["content"]] == ["image_url", "text"]


def test_chat_starts_with_a_placeholder_for_the_clients_prompt_so_that_indexes_are_the_providers() -> None:
    body = write("openai-chat", ("user", [TEXT]))
    assert [message["role"] for message in body.body["messages"]] == ["system", "user"]
    assert body.provenance["messages", 1].message == "msg_0"


def test_one_reasoning_item_in_several_parts_is_sent_once_without_its_id() -> None:
    def part(text: str, **state: Any) -> dict[str, Any]:
        return {"type": "reasoning", "text": text, "providerMetadata": {"openai": {"itemId": "rs", **state}}}

    body = write("openai-responses", ("assistant", [part("a"), part("b", reasoningEncryptedContent="e"), part("")]))
    assert body.body["input"] == [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
            "encrypted_content": "e",
        }
    ]
    assert (
        write("openai-responses", ("assistant", [part("a"), part("b", reasoningEncryptedContent=None)])).body["input"]
        == []
    )


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"type": "json", "value": None}, "null"),
        ({"type": "json", "value": "x"}, '"x"'),
        ({"type": "text", "value": None}, "null"),
        ({"type": "text", "value": [1, None, ["a"]]}, "1,,a"),
        ({"type": "text", "value": {"a": 1}}, "[object Object]"),
        ({"type": "text", "value": True}, "true"),
        ({"type": "error", "value": 1e21}, "1e+21"),
        ({"type": "error", "value": "boom"}, "boom"),
        ({"type": "error", "value": {"n": [1]}}, '{"n":[1]}'),
        ({"type": "error", "value": {"n": [float("inf")]}}, "[object Object]"),
    ],
)
def test_results_become_text_as_in_javascript(result: dict[str, Any], text: str) -> None:
    body = write("openai-chat", ("tool", [{**RESULT, "result": result}]), placeholder=False)
    assert body.body["messages"][0]["content"] == text


@every_protocol
def test_bodies_can_be_made_without_provenance_and_leave_the_history_alone(protocol: ProtocolName) -> None:
    lowered = history(("user", [TEXT]), ("system", [TEXT]), ("assistant", [TEXT, CALL]), ("tool", [RESULT]))
    before = jsjson.dumps(lowered.messages), repr(lowered.origins)
    writer = import_module(f"sessions_app.domain.protocols.{protocol.replace('-', '_')}.v2").write
    assert writer(lowered, Target(protocol, "p", "m"), provenance=False).provenance == {}
    assert (jsjson.dumps(lowered.messages), repr(lowered.origins)) == before


def test_the_limits_are_those_of_decoded_bytes() -> None:
    fits = base64.b64encode(bytes(1000)).decode()
    assert (
        write("anthropic-messages", ("user", [image(fits)])).body["messages"][0]["content"][0]["source"]["data"] == fits
    )
