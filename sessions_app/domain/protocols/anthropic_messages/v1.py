"""anthropic-messages bodies of the V1 client, which writes them with ``@ai-sdk/anthropic``
(docs/contract/wire.md#6.1.10, #f1 to #f16).

Verified against recordings. Cache marks are left out.
"""

from __future__ import annotations

import json
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.lowering.v1 import JS_SPACE
from sessions_app.domain.lowering.v1_packages import is_verified
from sessions_app.domain.protocols.v1_prompt import PromptMessage, decoded_text, grouped, prompt, unsupported
from sessions_app.domain.wire.lowered import BlockOrigins, Body, Lowered, LoweringError, Origin
from sessions_app.domain.wire.target import Target

type _Blocks = list[tuple[dict[str, Any], Origin]]

_SERVER_TOOLS: Final = ("web_search", "web_fetch", "code_execution")
_THINKING: Final = ("thinking", "redacted_thinking")


def write(lowered: Lowered, target: Target) -> Body:
    """The body for ``lowered``. Raises ``LoweringError`` for a file it cannot send (docs/contract/wire.md#f6) or a
    signature that is no text (docs/contract/wire.md#f15)."""
    messages: list[dict[str, Any]] = []
    sources: list[Origin] = []
    origins: list[list[Origin]] = []
    groups = list(grouped(prompt(lowered, target)))
    for index, group in enumerate(groups):
        assistant = group[0].role == "assistant"
        blocks: _Blocks = []
        for message in group:
            blocks += _assistant(message) if assistant else _user(message)
        last_of_all = lowered.ends and index == len(groups) - 1
        if assistant and last_of_all and blocks and blocks[-1][0]["type"] == "text":
            last = blocks[-1][0]
            last["text"] = last["text"].strip(JS_SPACE)
        sources.append(group[0].origin)
        origins.append([origin for _, origin in blocks])
        messages.append({"role": "assistant" if assistant else "user", "content": [block for block, _ in blocks]})
    body = {"model": target.model, "messages": messages}
    provenance = BlockOrigins("messages", "content", origins, sources)
    return Body("anthropic-messages", body, provenance, is_verified(target))


def _user(message: PromptMessage) -> _Blocks:
    write_block = _result if message.role == "tool" else _user_block
    return [(write_block(block, origin), origin) for block, origin in zip(message.blocks, message.origins, strict=True)]


def _user_block(block: dict[str, Any], origin: Origin) -> dict[str, Any]:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    media_type = block["mediaType"]
    if media_type.startswith("image/"):
        return {
            "type": "image",
            "source": _source(block, "image/jpeg" if media_type == "image/*" else media_type),
        }
    if media_type == "application/pdf":
        document = {"type": "document", "source": _source(block, media_type)}
    elif media_type == "text/plain" and "data" in block:
        text = decoded_text(block["data"])
        document = {"type": "document", "source": {"type": "text", "media_type": media_type, "data": text}}
    else:
        raise unsupported(f"media type: {media_type}", origin)
    if block.get("filename") is not None:
        document["title"] = block["filename"]
    return document


def _source(block: dict[str, Any], media_type: str) -> dict[str, Any]:
    if "url" in block:
        return {"type": "url", "url": block["url"]}
    return {"type": "base64", "media_type": media_type, "data": block["data"]}


def _result(block: dict[str, Any], origin: Origin) -> dict[str, Any]:
    result = block["result"]
    kind, value = result["type"], result["value"]
    if kind == "content":
        value = [item for item in map(_item, value) if item is not None]
    elif kind == "json":
        value = jsjson.encode(value)
    written = {"type": "tool_result", "tool_use_id": block["id"], "content": value}
    return {**written, "is_error": True} if kind == "error" else written


def _item(item: dict[str, Any]) -> dict[str, Any] | None:
    """An item inside a result; kinds other than text, images and PDF are dropped (docs/contract/wire.md#f7)."""
    if item["type"] == "text":
        return {"type": "text", "text": item["text"]}
    kind = "image" if item["mime"].startswith("image/") else "document" if item["mime"] == "application/pdf" else ""
    if not kind:
        return None
    return {
        "type": kind,
        "source": {"type": "base64", "media_type": item["mime"], "data": item["uri"].partition(",")[2]},
    }


def _assistant(message: PromptMessage) -> _Blocks:
    """The blocks of one message, calls behind the other blocks of each stretch between thinking blocks
    (docs/contract/wire.md#f1)."""
    blocks: _Blocks = []
    calls: _Blocks = []
    for part, origin in zip(message.blocks, message.origins, strict=True):
        block = _assistant_block(part, origin)
        if block is None:
            continue
        if block["type"] == "tool_use":
            calls.append((block, origin))
            continue
        if block["type"] in _THINKING:
            blocks += calls
            calls = []
        blocks.append((block, origin))
    return blocks + calls


def _assistant_block(part: dict[str, Any], origin: Origin) -> dict[str, Any] | None:
    kind = part["type"]
    if kind == "text":
        return {"type": "text", "text": part["text"]}
    if kind == "reasoning":
        return _thinking(part, origin)
    if part.get("providerExecuted"):
        return _server_call(part) if kind == "tool-call" else _server_result(part)
    block: dict[str, Any] = {"type": "tool_use", "id": part["id"], "name": part["name"]}
    if "input" in part:
        block["input"] = part["input"]
    caller = _caller(part)
    return {**block, "caller": caller} if caller else block


def _thinking(part: dict[str, Any], origin: Origin) -> dict[str, Any] | None:
    """Signed or redacted thinking; reasoning with neither is dropped, and only after the client's own filter
    (docs/contract/wire.md#6.8.d)."""
    state = part.get("providerMetadata", {}).get("anthropic")
    if state is None:
        return None
    signature, redacted = state.get("signature"), state.get("redactedData")
    if not all(value is None or isinstance(value, str) for value in (signature, redacted)):
        raise LoweringError("provider-options", "invalid anthropic provider options", origin)
    if signature is not None:
        return {"type": "thinking", "thinking": part["text"], "signature": signature}
    return None if redacted is None else {"type": "redacted_thinking", "data": redacted}


def _caller(part: dict[str, Any]) -> dict[str, Any] | None:
    """Who made the call, where code execution did: ``caller`` of the stored metadata (docs/contract/wire.md#f16)."""
    state = part.get("providerMetadata", {}).get("anthropic", {})
    caller = state.get("caller")
    if not isinstance(caller, dict):
        return None
    kind = caller.get("type")
    if kind == "direct":
        return {"type": "direct"}
    if isinstance(kind, str) and kind.startswith("code_execution_") and caller.get("toolId"):
        return {"type": kind, "tool_id": caller["toolId"]}
    return None


def _server_call(part: dict[str, Any]) -> dict[str, Any] | None:
    """A call that the provider ran itself, under a name it knows (docs/contract/wire.md#f8)."""
    if part["name"] not in _SERVER_TOOLS:
        return None
    block = {"type": "server_tool_use", "id": part["id"], "name": part["name"]}
    return {**block, "input": part["input"]} if "input" in part else block


def _server_result(part: dict[str, Any]) -> dict[str, Any] | None:
    """Only errors come through: a stored output is text, and these results are no text (docs/contract/wire.md#f8)."""
    name, result = part["name"], part["result"]
    if name not in _SERVER_TOOLS or result["type"] != "error":
        return None
    told = _error_told(result["value"])
    if name == "code_execution" and told.get("type") != "code_execution_tool_result_error":
        name = "bash_code_execution"
    fallback = "unavailable" if name.startswith("web_") else "unknown"
    code = told.get("errorCode")
    error = {"type": f"{name}_tool_result_error", "error_code": fallback if code is None else code}
    return {"type": f"{name}_tool_result", "tool_use_id": part["id"], "content": error}


def _error_told(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
