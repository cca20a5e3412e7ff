"""Shapes, lengths and names of openai-chat (O5 to O16, A31)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sessions_app.domain.protocols.openai_chat.view import Call, Message, View
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Violation

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
ID_LIMIT = 40
ID_LIMIT_ELSEWHERE = 64
NAME_LIMIT = 64
ARRAY_LIMIT = 128
_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_KEYS = frozenset(
    {
        "model",
        "messages",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "n",
        "stop",
    }
    | {
        "seed",
        "user",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "functions",
        "function_call",
        "response_format",
        "store",
    }
    | {
        "reasoning_effort",
        "verbosity",
        "modalities",
        "audio",
        "prediction",
        "metadata",
        "logprobs",
        "top_logprobs",
        "logit_bias",
    }
    | {
        "presence_penalty",
        "frequency_penalty",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "moderation",
    }
    | {"prompt_cache_options", "safety_identifier", "web_search_options"}
)


@needs("textless", "own-fields")
def content_required(view: View) -> Iterator[Violation]:
    """O5: null content only beside calls, a refusal, audio or a function call. O6: every other role has content."""
    for message in view.messages:
        if message.content is not None:
            continue
        if message.role == "assistant":
            if not any(message.data.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")):
                say = "deepseek" if "S1" in view.profile.rules else ""
                yield view.request.broken("O5", f"messages.[{message.index}].content", message.pointer, say)
        elif message.role in ROLES:
            yield view.request.broken("O6", f"messages[{message.index}].content", message.pointer)


@needs("nothing", "starts-odd", "own-fields")
def roles(view: View) -> Iterator[Violation]:
    """O7: a role the API knows. O8: at least one message besides the client's system prompt."""
    if not any(message.role not in ("system", "developer") for message in view.messages):
        yield view.request.broken("O8", "messages", ("messages",), doubtful=bool(view.messages))
    for message in view.messages:
        if message.role not in ROLES:
            yield view.request.broken("O7", f"messages[{message.index}].role", message.pointer, role=message.role)


@needs("odd-id", "own-fields", "server")
def id_lengths(view: View) -> Iterator[Violation]:
    """O9: ids of at most 40 characters at OpenAI; other hosts draw the line anywhere up to 64
    (docs/contract/wire.md#7)."""
    for call in view.calls:
        if len(call.id) > ID_LIMIT:
            yield _too_long(view, call.id, f"{call.position}.id", (*call.pointer, "id"))
    for message in view.messages:
        if message.role == "tool" and len(message.call_id) > ID_LIMIT:
            yield _too_long(view, message.call_id, f"messages[{message.index}].tool_call_id", message.pointer)


def _too_long(view: View, value: str, where: str, pointer: tuple[str | int, ...]) -> Violation:
    own = not view.profile.soft
    limit = ID_LIMIT if own or len(value) <= ID_LIMIT_ELSEWHERE else ID_LIMIT_ELSEWHERE
    doubtful = not own and len(value) <= ID_LIMIT_ELSEWHERE
    return view.request.broken("O9", where, pointer, doubtful=doubtful, limit=limit, length=len(value))


@needs("odd-name", "odd-input", "many", "own-fields", "server")
def calls(view: View) -> Iterator[Violation]:
    """O10 (names), O11 (at most 128 calls in a message), O13 (arguments are a string)."""
    for message in view.assistants:
        if len(message.calls) > ARRAY_LIMIT:
            yield _array(view, f"messages[{message.index}].tool_calls", len(message.calls), message)
        for call in message.calls:
            yield from _call(view, call)
    tools = view.request.list_of("tools")
    if len(tools) > ARRAY_LIMIT:
        yield _array(view, "tools", len(tools), None)


def _array(view: View, where: str, length: int, message: Message | None) -> Violation:
    pointer = message.pointer if message else ("tools",)
    return view.request.broken("O11", where, pointer, limit=ARRAY_LIMIT, length=length)


def _call(view: View, call: Call) -> Iterator[Violation]:
    where = f"{call.position}.function"
    if not call.function:  # a custom call, which has no function
        return
    if "name" in call.function:
        if len(call.name) > NAME_LIMIT:
            yield view.request.broken(
                "O10", f"{where}.name", call.pointer, "long", limit=NAME_LIMIT, length=len(call.name)
            )
        elif not _NAME.match(call.name):
            yield view.request.broken("O10", f"{where}.name", call.pointer)
    arguments = call.function.get("arguments")
    if "arguments" not in call.function:
        yield view.request.broken("O13", f"{where}.arguments", call.pointer, "absent")
    elif not isinstance(arguments, str):
        yield view.request.broken("O13", f"{where}.arguments", call.pointer, kind=_json_type(arguments))


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    return "an array" if isinstance(value, list) else "an object"


@needs("media", "content-result", "own-fields")
def images(view: View) -> Iterator[Violation]:
    """O12: images only in user messages."""
    for message in view.messages:
        if message.role == "user" or not isinstance(message.content, list):
            continue
        for index, part in enumerate(message.parts):
            if part.get("type") == "image_url":
                pointer = (*message.pointer, "content", index)
                yield view.request.broken("O12", f"messages[{message.index}]", pointer, role=message.role)
                break


@needs("parameters")
def parameters(view: View) -> Iterator[Violation]:
    """O14: no unknown top-level key. O15: what the gpt-5 family no longer takes."""
    body = view.request.body
    for name in body:
        if name not in _KEYS:
            yield view.request.broken("O14", name, (name,))
    if not view.request.model.completion_tokens_only:
        return
    for name, say in (("max_tokens", "max_tokens"), ("stop", "")):
        if name in body:
            yield view.request.broken("O15", name, (name,), say)
    if body.get("temperature", 1) != 1:
        value = body["temperature"]
        yield view.request.broken("O15", "temperature", ("temperature",), "temperature", value=value)
