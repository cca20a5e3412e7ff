"""The request models of the providers' own SDKs take every golden body that the protocol's rules accept."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from sessions_app.domain import protocols
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from tests.factories.goldens import goldens
from tests.lowering.v2.test_goldens import write

LOWERED = [golden for golden in goldens() if "llm" in golden.expected]

pytestmark = pytest.mark.exhaustive


@cache
def sdk_types() -> SimpleNamespace:
    """The SDKs' models of a request. They take seconds to import, so only when a test asks."""
    import botocore.session
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from google.genai import types as gemini
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
    from pydantic import TypeAdapter

    bedrock = botocore.session.get_session().get_service_model("bedrock-runtime")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SimpleNamespace(
            anthropic=TypeAdapter(MessageCreateParamsStreaming),
            chat=TypeAdapter(CompletionCreateParamsStreaming),
            responses=TypeAdapter(ResponseCreateParamsStreaming),
            contents=TypeAdapter(list[gemini.Content]),
            converse=bedrock.operation_model("ConverseStream").input_shape,
        )


def exhaust(value: Any) -> None:
    """The models check iterables only as they are read."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        for item in value:
            exhaust(item)


def completed(body: dict[str, Any]) -> dict[str, Any]:
    """A Responses body with what its types require and the server does not: ids and status of replayed items,
    annotations, the detail of an image (docs/contract/wire.md#6.3: the client leaves them out)."""
    body = copy.deepcopy(body)
    for item in body["input"]:
        if item.get("role") == "assistant":
            item.update(id="msg_1", status="completed", type="message")
        if item.get("type") == "reasoning":
            item["id"] = "rs_1"
        for key in ("content", "output"):
            for block in item.get(key, []) if isinstance(item.get(key), list) else []:
                block.update(
                    {"output_text": {"annotations": []}, "input_image": {"detail": "auto"}}.get(block["type"], {})
                )
    return body


def has_made_up_server_result(body: dict[str, Any]) -> bool:
    """A hosted tool whose stored result is plain text is sent as a server tool result with that text. The types have no
    such block, and no rule says what the provider answers (docs/contract/wire.md#1b lists none), so the two may differ
    here."""
    return any(
        block["type"].endswith("_tool_result") and not isinstance(block["content"], (dict, list))
        for message in body["messages"]
        if message["role"] == "assistant"
        for block in message["content"]
    )


def check_anthropic(body: dict[str, Any]) -> None:
    exhaust(sdk_types().anthropic.validate_python(body))


def check_chat(body: dict[str, Any]) -> None:
    exhaust(sdk_types().chat.validate_python(body))


def check_responses(body: dict[str, Any]) -> None:
    exhaust(sdk_types().responses.validate_python(completed(body)))


def check_gemini(body: dict[str, Any]) -> None:
    sdk_types().contents.validate_python(body["contents"])


def check_converse(body: dict[str, Any]) -> None:
    from botocore.validate import ParamValidator

    report = ParamValidator().validate(body, sdk_types().converse)
    if report.has_errors():
        raise ValueError(report.generate_report())


CHECKS: dict[ProtocolName, Callable[[dict[str, Any]], None]] = {
    "anthropic-messages": check_anthropic,
    "openai-chat": check_chat,
    "openai-responses": check_responses,
    "gemini": check_gemini,
    "bedrock-converse": check_converse,
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sdk_types_take_every_accepted_body(protocol: ProtocolName) -> None:
    accepted = 0
    refused: dict[str, str] = {}
    for golden in LOWERED:
        try:
            body = write(golden, protocol)
        except LoweringError:
            continue
        if not protocols.judge(body, replace(golden.target, protocol=protocol)).accepted:
            continue
        if protocol == "anthropic-messages" and has_made_up_server_result(body.body):
            continue
        accepted += 1
        try:
            CHECKS[protocol](body.body)
        except ValueError as error:
            refused[repr(golden)] = str(error)[:500]
    assert not refused
    assert accepted > 50


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sdk_types_refuse_what_is_no_body(protocol: ProtocolName) -> None:
    golden = next(golden for golden in LOWERED if golden.name == "tool-completed-text")
    body = copy.deepcopy(write(golden, protocol).body)
    key = {"openai-responses": "input", "gemini": "contents"}.get(protocol, "messages")
    body[key] = [{"role": "nobody", "content": 5, "parts": 5}]
    with pytest.raises(ValueError):
        CHECKS[protocol](body)
