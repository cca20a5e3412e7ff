"""The V2 client's writer of bedrock-converse (docs/contract/wire.md#6.3)."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.protocols.v2_common import (
    CacheMarks,
    CachePolicy,
    checked_media,
    keyed_state,
    refuse,
    result_text,
    sendable,
    system_update,
    text_of,
    unsupported,
)
from sessions_app.domain.wire.lowered import BlockOrigins, Body, CanonicalMessage, Lowered, Origin
from sessions_app.domain.wire.target import Target

from .v1 import DOCUMENTS

_ROUTE: Final = "Bedrock Converse"
_IMAGE_FORMATS: Final = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_IMAGES: Final = frozenset(_IMAGE_FORMATS)
_DOCUMENTS: Final = frozenset(DOCUMENTS)

type _Json = dict[str, Any]


def write(lowered: Lowered, target: Target, *, cache: CachePolicy = "none", provenance: bool = True) -> Body:
    """The request body of ``lowered``. Raises ``LoweringError`` (InvalidRequest) where the client makes no request."""
    source = sendable(lowered)
    marks = CacheMarks((message for message, _ in source), cache)
    messages: list[_Json] = []
    sources: list[list[Origin]] = []
    for index, (message, origins) in enumerate(source):
        role = message["role"]
        blocks, origins = _blocks(message, origins), origins if role != "system" else origins[:1]
        marked = marks.at(index)
        if marked >= 0 and not ("image" in blocks[marked] or "document" in blocks[marked]):
            blocks.insert(marked + 1, {"cachePoint": {"type": "default"}})
            origins = [*origins[: marked + 1], Origin(origins[marked].message, ""), *origins[marked + 1 :]]
        if role == "system" and messages and messages[-1]["role"] == "user":
            messages[-1]["content"] += blocks
            sources[-1] = [*sources[-1], *origins]
        else:
            messages.append({"role": "assistant" if role == "assistant" else "user", "content": blocks})
            sources.append(origins)
    found = BlockOrigins("messages", "content", sources) if provenance else {}
    return Body("bedrock-converse", {"modelId": target.model, "messages": messages}, found)


def _blocks(message: CanonicalMessage, origins: list[Origin]) -> list[_Json]:
    role = message["role"]
    if role == "system":
        return [{"text": system_update(_ROUTE, message, origins)}]
    block = {"user": _user, "assistant": _turn, "tool": _result}[role]
    return [block(part, origin) for part, origin in zip(message["content"], origins, strict=True)]


def _user(part: _Json, origin: Origin) -> _Json:
    if part["type"] == "text":
        return {"text": part["text"]}
    if part["type"] == "media":
        if "media" in part:
            source = part["media"]["source"]
            return _media(source["mediaType"], source["data"], part.get("filename"), origin)
        return _media(part["mediaType"], part["data"], part.get("filename"), origin)
    unsupported(_ROUTE, "user", ("text", "media"), origin)


def _turn(part: _Json, origin: Origin) -> _Json:
    kind = part["type"]
    if kind == "text":
        return {"text": part["text"]}
    if kind == "tool-call":
        return {"toolUse": {"toolUseId": part["id"], "name": part["name"], "input": part["input"]}}
    if kind == "reasoning":
        text: _Json = {"text": part["text"]}
        signature = text_of(keyed_state(part, "bedrock"), "signature")
        if signature is not None:
            text["signature"] = signature
        return {"reasoningContent": {"reasoningText": text}}
    unsupported(_ROUTE, "assistant", ("text", "reasoning", "tool-call"), origin)


def _result(part: _Json, origin: Origin) -> _Json:
    if part["type"] != "tool-result":
        unsupported(_ROUTE, "tool", ("tool-result",), origin)
    result = part["result"]
    if result["type"] == "json":
        content: list[_Json] = [{"json": result["value"]}]
    elif result["type"] == "content":
        content = [_result_item(item, origin) for item in result["value"]]
    else:
        content = [{"text": result_text(result)}]
    status = "error" if result["type"] == "error" else "success"
    return {"toolResult": {"toolUseId": part["id"], "content": content, "status": status}}


def _result_item(item: _Json, origin: Origin) -> _Json:
    if item["type"] == "text":
        return {"text": item["text"]}
    media = _media(item["mime"], item["uri"], item.get("name"), origin)
    if "image" not in media:
        refuse(f"{_ROUTE} only supports image media in tool results", origin)
    return media


def _media(kind: str, data: str, name: str | None, origin: Origin) -> _Json:
    mime = kind.lower()
    if mime.startswith("image/"):
        if mime not in _IMAGES:
            refuse(f"{_ROUTE} does not support image media type {kind}", origin)
        media = checked_media(_ROUTE, kind, data, _IMAGES, origin)
        return {"image": {"format": _IMAGE_FORMATS[mime], "source": {"bytes": media.data}}}
    media = checked_media(_ROUTE, kind, data, _DOCUMENTS, origin)
    ending = DOCUMENTS[mime]
    source = {"bytes": media.data}
    return {
        "document": {
            "format": ending,
            "name": name if name is not None else f"document.{ending}",
            "source": source,
        }
    }
