"""A request body as lines of a conversation, for the before/after of what the model will see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

TEXT_LIMIT = 20_000
"""Characters of one text that take part in the comparison."""


def conversation(body: dict[str, Any] | None) -> list[str]:
    """Every message as its role and what it says, without positions, so that a removal changes only what it removes."""
    return ["\n".join(_message(message)) for message in sent_messages(body)]


def payload(body: dict[str, Any] | None) -> list[str]:
    """Every message as JSON, in the order in which they are sent."""
    return [json.dumps(message, ensure_ascii=False, indent=2, default=repr) for message in sent_messages(body)]


def sent_messages(body: dict[str, Any] | None) -> list[Any]:
    """The messages of a request body, under whatever name its protocol has for them."""
    body = body or {}
    return next((body[key] for key in ("messages", "input", "contents") if isinstance(body.get(key), list)), [])


def _message(message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        yield from _json(message)
        return
    role = message.get("role") or message.get("type") or "message"
    yield f"[{role}]"
    if message.get("tool_call_id"):
        yield f"  result of {message['tool_call_id']}:"
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        yield from _text(content)
    elif isinstance(content, list):
        for block in content:
            yield from _block(block)
    elif "role" not in message:
        yield from _block(message)
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            yield "  (thinking)"
            yield from _text(message[name])
    for call in message.get("tool_calls") or ():
        function = call.get("function", {}) if isinstance(call, dict) else {}
        yield f"  call {function.get('name')} {call.get('id') if isinstance(call, dict) else ''}"
        yield from _text(str(function.get("arguments", "")))


def _block(block: Any) -> Iterator[str]:
    if not isinstance(block, dict):
        yield from _json(block)
        return
    match block:
        case {"text": str(text)}:
            yield from _text(text)
        case {"thinking": str(text)}:
            yield "  (thinking)"
            yield from _text(text)
        case {"type": "tool_use", "name": name, "id": call}:
            yield f"  call {name} {call}"
            yield from _json(block.get("input"))
        case {"type": "tool_result", "tool_use_id": call}:
            yield f"  result of {call}{' (error)' if block.get('is_error') else ''}:"
            content = block.get("content")
            for item in (
                content if isinstance(content, list) else [{"text": content}] if isinstance(content, str) else []
            ):
                yield from _block(item)
        case {"type": "function_call", "name": name, "call_id": call}:
            yield f"  call {name} {call}"
            yield from _text(str(block.get("arguments", "")))
        case {"type": "function_call_output", "call_id": call}:
            yield f"  result of {call}:"
            yield from _text(str(block.get("output", "")))
        case _:
            yield from _json(block)


def _text(text: str) -> Iterator[str]:
    shown = text[:TEXT_LIMIT]
    yield _indented(shown)
    if len(text) > TEXT_LIMIT:
        yield f"  … {len(text):,} characters in all"


def _json(value: Any) -> Iterator[str]:
    text = json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    yield _indented(text[:TEXT_LIMIT])


def _indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")
