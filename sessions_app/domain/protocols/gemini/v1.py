"""gemini bodies of the V1 client, which writes them with ``@ai-sdk/google`` (docs/contract/wire.md#6.1.10, #6.9)."""

from __future__ import annotations

from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.lowering.v1_packages import is_verified
from sessions_app.domain.protocols.v1_prompt import PromptMessage, prompt
from sessions_app.domain.wire.lowered import BlockOrigins, Body, Lowered, Origin
from sessions_app.domain.wire.target import Target

type _Parts = list[tuple[dict[str, Any], Origin]]

_IMAGE_RETURNED = "Tool executed successfully and returned this image as a response"
_NOTHING_RETURNED = "Tool executed successfully."


def write(lowered: Lowered, target: Target) -> Body:
    """The body for ``lowered``: ``contents`` in the order of the messages, none of them merged."""
    contents: list[dict[str, Any]] = []
    sources: list[Origin] = []
    origins: list[list[Origin]] = []
    inline = "gemini-3" in target.model.lower()
    for message in prompt(lowered, target):
        parts = _parts(message, inline)
        if not parts and message.role == "assistant":
            continue  # the client's patch of the package takes out contents left empty
        sources.append(message.origin)
        origins.append([origin for _, origin in parts])
        role = "model" if message.role == "assistant" else "user"
        contents.append({"role": role, "parts": [part for part, _ in parts]})
    provenance = BlockOrigins("contents", "parts", origins, sources)
    return Body("gemini", {"contents": contents}, provenance, is_verified(target))


def _parts(message: PromptMessage, inline: bool) -> _Parts:
    parts: _Parts = []
    for block, origin in zip(message.blocks, message.origins, strict=True):
        if message.role == "user":
            parts.append((_user_part(block), origin))
        elif message.role == "tool":
            parts += [(part, origin) for part in _response(block, inline)]
        else:
            part = _model_part(block)
            if part is not None:
                parts.append((part, origin))
    return parts


def _user_part(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "text":
        return {"text": block["text"]}
    media_type = "image/jpeg" if block["mediaType"] == "image/*" else block["mediaType"]
    if "url" in block:
        return {"fileData": {"mimeType": media_type, "fileUri": block["url"]}}
    return {"inlineData": {"mimeType": media_type, "data": block["data"]}}


def _model_part(block: dict[str, Any]) -> dict[str, Any] | None:
    """Text and reasoning without text go, and their signature with them (G4)."""
    kind = block["type"]
    if kind in ("text", "reasoning"):
        if block["text"] == "":
            return None
        part: dict[str, Any] = {"text": block["text"]}
        if kind == "reasoning":
            part["thought"] = True
    elif kind == "tool-call":
        call = {"name": block["name"]}
        if "input" in block:
            call["args"] = block["input"]
        part = {"functionCall": call}
    else:
        return None  # results of tools the provider ran have no place here
    metadata = block.get("providerMetadata", {})
    signature = metadata.get("google", metadata.get("vertex", {})).get("thoughtSignature")
    return part if signature is None else {**part, "thoughtSignature": signature}


def _response(block: dict[str, Any], inline: bool) -> list[dict[str, Any]]:
    """The response parts of one result. Gemini 3 takes media inside the response; older models get them beside it, and
    then one response per text (G1, G9)."""
    result = block["result"]
    if result["type"] != "content":
        return [_function_response(block["name"], result["value"])]
    texts = [item["text"] for item in result["value"] if item["type"] == "text"]
    files = [item for item in result["value"] if item["type"] != "text"]
    if inline:
        response = _function_response(block["name"], "\n".join(texts) if texts else _NOTHING_RETURNED)
        if files:
            response["functionResponse"]["parts"] = [_inline(item) for item in files]
        return [response]
    parts = []
    for item in result["value"]:
        if item["type"] == "text":
            parts.append(_function_response(block["name"], item["text"]))
        elif item["mime"].startswith("image/"):
            parts += [_inline(item), {"text": _IMAGE_RETURNED}]
        else:
            data = {"type": "file-data", "data": item["uri"].partition(",")[2], "mediaType": item["mime"]}
            parts.append({"text": jsjson.encode(data)})
    return parts


def _function_response(name: str, content: Any) -> dict[str, Any]:
    """Errors look like successes: the protocol has no flag for them."""
    return {"functionResponse": {"name": name, "response": {"name": name, "content": content}}}


def _inline(item: dict[str, Any]) -> dict[str, Any]:
    return {"inlineData": {"mimeType": item["mime"], "data": item["uri"].partition(",")[2]}}
