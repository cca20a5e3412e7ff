"""What a strict provider refuses, written from its own side: nothing here comes from the package under test.

Each function takes the decoded request body and gives the provider's error text, or None where it accepts. The order of
checks follows the providers: shape of single values, then content, then pairing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

type Message = dict[str, Any]

PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]+")
THINKING = ("thinking", "redacted_thinking")


def chat_error(body: dict[str, Any]) -> str | None:
    """OpenAI chat completions: one answer per call, directly after it; no id twice in one message."""
    messages: list[Message] = body["messages"]
    index = 0
    while index < len(messages):
        message, here = messages[index], index
        index += 1
        if message["role"] == "tool":
            return (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                f" 'tool_calls'. (message[{here}])"
            )
        ids = [call["id"] for call in message.get("tool_calls") or []]
        for position, identifier in enumerate(ids):
            if identifier in ids[:position]:
                return f"Duplicate value for 'tool_call_id' of {identifier} in message[{here}]"
        waiting = list(ids)
        while ids and index < len(messages) and messages[index]["role"] == "tool":
            answered = messages[index]["tool_call_id"]
            if answered not in waiting:
                return (
                    f"Invalid parameter: 'tool_call_id' of '{answered}' not found in 'tool_calls' of previous message."
                )
            waiting.remove(answered)
            index += 1
        if waiting:
            return (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
                f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
                f" (message[{here}])"
            )
    return None


def anthropic_error(body: dict[str, Any]) -> str | None:
    """Anthropic messages: ids, content, pairing, and thinking first where manual thinking is on."""
    messages: list[Message] = body["messages"]
    if not messages:
        return "messages: at least one message is required"
    for check in (_values, _content, _unique, _pairs):
        error = check(messages)
        if error:
            return error
    thinking = body.get("thinking") or {}
    return _thinking_first(messages) if thinking.get("type") == "enabled" else None


def _blocks(message: Message) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _each(messages: list[Message]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, message in enumerate(messages):
        for position, block in enumerate(_blocks(message)):
            yield f"messages.{index}.content.{position}", block


def _values(messages: list[Message]) -> str | None:
    for path, block in _each(messages):
        kind = block["type"]
        if kind == "tool_use" and not PLAIN_ID.fullmatch(block["id"]):
            return f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if kind == "tool_use" and not isinstance(block["input"], dict):
            return f"{path}.tool_use.input: Input should be an object"
        if kind == "thinking" and not isinstance(block.get("signature"), str):
            return f"{path}.thinking.signature: Field required"
    return None


def _content(messages: list[Message]) -> str | None:
    if messages[0]["role"] != "user":
        return 'messages: first message must use the "user" role'
    for index, message in enumerate(messages[:-1]):
        if not _blocks(message):
            return (
                f"messages.{index}: all messages must have non-empty content"
                " except for the optional final assistant message"
            )
    if any(block["type"] == "text" and not block["text"] for _, block in _each(messages)):
        return "messages: text content blocks must be non-empty"
    return None


def _unique(messages: list[Message]) -> str | None:
    seen: set[str] = set()
    for path, block in _each(messages):
        if block["type"] == "tool_use":
            if block["id"] in seen:
                return f"{path}: `tool_use` ids must be unique"
            seen.add(block["id"])
    return None


def _runs(messages: list[Message]) -> Iterator[tuple[str, int, list[tuple[str, dict[str, Any]]]]]:
    """Messages of one role in a row are one message to the server: (role, index of the last, blocks with their
    paths)."""
    start = 0
    while start < len(messages):
        end = start
        while end + 1 < len(messages) and messages[end + 1]["role"] == messages[start]["role"]:
            end += 1
        blocks = [
            (f"messages.{index}.content.{position}", block)
            for index in range(start, end + 1)
            for position, block in enumerate(_blocks(messages[index]))
        ]
        yield messages[start]["role"], end, blocks
        start = end + 1


def _pairs(messages: list[Message]) -> str | None:
    calls: list[str] = []
    place = 0
    for role, index, blocks in _runs(messages):
        if role == "assistant":
            calls, place = [block["id"] for _, block in blocks if block["type"] == "tool_use"], index
            continue
        error = _answers(calls, place, blocks)
        if error:
            return error
        calls = []
    return _unanswered(calls, place)


def _answers(calls: list[str], place: int, blocks: list[tuple[str, dict[str, Any]]]) -> str | None:
    waiting, answered = list(calls), set()
    leading = True
    for path, block in blocks:
        if block["type"] != "tool_result":
            leading = False
            continue
        identifier = block["tool_use_id"]
        if identifier in answered:
            return f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {identifier}"
        if identifier not in waiting:
            return (
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {identifier}. Each `tool_result`"
                " block must have a corresponding `tool_use` block in the previous message."
            )
        if leading:
            waiting.remove(identifier)
            answered.add(identifier)
    return _unanswered(waiting, place)


def _unanswered(calls: list[str], place: int) -> str | None:
    if not calls:
        return None
    return (
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after:"
        f" {', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _thinking_first(messages: list[Message]) -> str | None:
    """The last assistant message of a tool loop still open must start with thinking."""
    last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    if last < 0:
        return None
    blocks = _blocks(messages[last])
    after = [block for message in messages[last + 1 :] for block in _blocks(message)]
    in_loop = any(block["type"] == "tool_use" for block in blocks) and any(b["type"] == "tool_result" for b in after)
    if not in_loop or blocks[0]["type"] in THINKING:
        return None
    return (
        f"messages.{last}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{blocks[0]['type']}`."
        " When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the"
        " lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous"
        " turns. To avoid this requirement, disable `thinking`."
    )


def responses_error(body: dict[str, Any]) -> str | None:
    """OpenAI responses: one output per call, no call id twice, no reasoning item that nothing follows."""
    items: list[Message] = body["input"]
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    for call in calls:
        if calls.count(call) > 1:
            return f"Duplicate function_call call_id {call}"
        if call not in outputs:
            return f"No tool output found for function call {call}."
    for output in outputs:
        if output not in calls:
            return f"No tool call found for function call output with call_id {output}."
        if outputs.count(output) > 1:
            return (
                f"Duplicate function_call_output for call_id '{output}'. Each function_call must have exactly one"
                " matching function_call_output"
            )
    return None
