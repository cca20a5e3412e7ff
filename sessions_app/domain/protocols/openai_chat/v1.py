"""openai-chat bodies of the V1 client (docs/contract/wire.md#6.1.10, #c5, #f5 to #f16).

``@ai-sdk/openai-compatible`` is verified against recordings; the packages of OpenAI itself, Mistral and Groq differ
where noted.
"""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.lowering.v1_packages import package_of
from sessions_app.domain.protocols.v1_prompt import PromptMessage, decoded_text, prompt, unsupported
from sessions_app.domain.wire.lowered import Body, Lowered, Origin, Path
from sessions_app.domain.wire.providers import COMPATIBLE
from sessions_app.domain.wire.target import Target

SYSTEM_PLACEHOLDER: Final = {"role": "system", "content": "(the client's system prompt)"}
"""Stands for the client's system message, so that indexes are the provider's (docs/contract/design.md#6)."""

MISTRAL: Final = "@ai-sdk/mistral"
_OPENAI: Final = ("@ai-sdk/openai", "@ai-sdk/azure")
_REASONING_FIELD: Final = {"@ai-sdk/groq": "reasoning"}


def write(lowered: Lowered, target: Target) -> Body:
    """The body that the target's package makes of ``lowered``. Raises ``LoweringError`` for a file it cannot send
    (docs/contract/wire.md#f6)."""
    package = package_of(target)
    messages: list[dict[str, Any]] = [dict(SYSTEM_PLACEHOLDER)]
    provenance: dict[Path, Origin] = {}
    for message in prompt(lowered, target):
        at = ("messages", len(messages))
        if message.role == "tool":
            for block, origin in zip(message.blocks, message.origins, strict=True):
                provenance["messages", len(messages)] = origin
                messages.append(_tool(block, package))
            continue
        provenance[at] = message.origin
        if message.role == "user":
            messages.append(_user(message, package, at, provenance))
        else:
            messages.append(_assistant(message, package, at, provenance))
    if package == MISTRAL and messages[-1]["role"] == "assistant":
        messages[-1]["prefix"] = True
    body = {"model": target.model, "messages": messages}
    return Body("openai-chat", body, provenance, verified=package == COMPATIBLE)


def _user(
    message: PromptMessage, package: str, at: tuple[str | int, ...], provenance: dict[Path, Origin]
) -> dict[str, Any]:
    blocks = message.blocks
    if len(blocks) == 1 and blocks[0]["type"] == "text" and package != MISTRAL:
        return {"role": "user", "content": blocks[0]["text"]}
    content = []
    for index, (block, origin) in enumerate(zip(blocks, message.origins, strict=True)):
        provenance[*at, "content", index] = origin
        content.append({"type": "text", "text": block["text"]} if block["type"] == "text" else _file(block, origin))
    return {"role": "user", "content": content}


def _assistant(
    message: PromptMessage, package: str, at: tuple[str | int, ...], provenance: dict[Path, Origin]
) -> dict[str, Any]:
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[dict[str, Any]] = []
    for block, origin in zip(message.blocks, message.origins, strict=True):
        kind = block["type"]
        if kind == "text":
            text.append(block["text"])
        elif kind == "reasoning":
            (text if package == MISTRAL else reasoning).append(block["text"])
        elif kind == "tool-call":
            provenance[*at, "tool_calls", len(calls)] = origin
            calls.append(_call(block))
    content: str | None = "".join(text)
    if not content and calls and package in _OPENAI:
        content = None
    result: dict[str, Any] = {"role": "assistant", "content": content}
    if package not in _OPENAI and (thought := "".join(reasoning)):
        result[_REASONING_FIELD.get(package, "reasoning_content")] = thought
    if calls:
        result["tool_calls"] = calls
    if package not in _OPENAI:
        result |= message.fields
    return result


def _call(block: dict[str, Any]) -> dict[str, Any]:
    function = {"name": block["name"]}
    if "input" in block:
        function["arguments"] = jsjson.encode(block["input"])
    call: dict[str, Any] = {"id": block["id"], "type": "function", "function": function, **_own(block)}
    google = block.get("providerMetadata", {}).get("google")
    if google and google.get("thoughtSignature"):
        call["extra_content"] = {"google": {"thought_signature": _text_of(google["thoughtSignature"])}}
    return call


def _tool(block: dict[str, Any], package: str) -> dict[str, Any]:
    """A result; an error is plain text, and what is no text is written as JSON (docs/contract/wire.md#f7, #f9)."""
    result = block["result"]
    value = result["value"]
    if result["type"] == "content":
        value = [item if item["type"] == "text" else _item(item) for item in value]
    content = value if result["type"] in ("text", "error") else jsjson.encode(value)
    message: dict[str, Any] = {"role": "tool"}
    if package == MISTRAL:
        message["name"] = block["name"]
    return {**message, "tool_call_id": block["id"], "content": content, **_own(block)}


def _item(item: dict[str, Any]) -> dict[str, Any]:
    kind = "image-data" if item["mime"].startswith("image/") else "file-data"
    return {"type": kind, "data": item["uri"].partition(",")[2], "mediaType": item["mime"]}


def _own(block: dict[str, Any]) -> dict[str, Any]:
    """Metadata that goes onto the written entry as it is (docs/contract/wire.md#f16)."""
    own: dict[str, Any] = block.get("providerMetadata", {}).get("openaiCompatible", {})
    return own


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else jsjson.encode(value)


def _file(block: dict[str, Any], origin: Origin) -> dict[str, Any]:
    """A user's file (docs/contract/wire.md#f5); what this protocol has no place for stops the client
    (docs/contract/wire.md#f6)."""
    media_type = block["mediaType"]
    data = block.get("data")
    if media_type.startswith("image/"):
        kind = "image/jpeg" if media_type == "image/*" else media_type
        return {
            "type": "image_url",
            "image_url": {"url": block["url"] if data is None else f"data:{kind};base64,{data}"},
        }
    if media_type.startswith("audio/") and data is not None:
        formats = {"audio/wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
        if media_type not in formats:
            raise unsupported(f"audio media type {media_type}", origin)
        return {"type": "input_audio", "input_audio": {"data": data, "format": formats[media_type]}}
    if media_type == "application/pdf" and data is not None:
        url = f"data:application/pdf;base64,{data}"
        return {
            "type": "file",
            "file": {"filename": block.get("filename") or "document.pdf", "file_data": url},
        }
    if media_type.startswith("text/") and data is not None:
        return {"type": "text", "text": decoded_text(data)}
    raise unsupported(f"file part media type {media_type}", origin)
