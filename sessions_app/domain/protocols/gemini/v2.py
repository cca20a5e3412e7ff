"""The V2 client's writer of gemini ``generateContent`` (docs/contract/wire.md#6.3)."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.protocols.v2_common import (
    IMAGES,
    MOVING,
    CachePolicy,
    Media,
    checked_media,
    keyed_state,
    result_text,
    sendable,
    system_update,
    text_of,
    unsupported,
    user_media,
)
from sessions_app.domain.wire.lowered import BlockOrigins, Body, CanonicalMessage, Lowered, Origin
from sessions_app.domain.wire.target import Target

_ROUTE: Final = "Gemini"
_MEDIA: Final = IMAGES | MOVING

type _Json = dict[str, Any]


def write(lowered: Lowered, target: Target, *, cache: CachePolicy = "none", provenance: bool = True) -> Body:
    """The request body of ``lowered``. Raises ``LoweringError`` (InvalidRequest) where the client makes no request.
    ``cache`` changes nothing: the protocol has no cache marks."""
    contents: list[_Json] = []
    sources: list[list[Origin]] = []
    for message, origins in sendable(lowered):
        if message["role"] == "system":
            text = {"text": system_update(_ROUTE, message, origins)}
            if contents and contents[-1]["role"] == "user":
                contents[-1]["parts"].append(text)
                sources[-1] = [*sources[-1], origins[0]]
            else:
                contents.append({"role": "user", "parts": [text]})
                sources.append(origins[:1])
            continue
        role, parts, source = _content(message, origins)
        contents.append({"role": role, "parts": parts})
        sources.append(source)
    found = BlockOrigins("contents", "parts", sources) if provenance else {}
    return Body("gemini", {"contents": contents}, found)


def _content(message: CanonicalMessage, origins: list[Origin]) -> tuple[str, list[_Json], list[Origin]]:
    """Role, parts and the origin of each part."""
    pairs = zip(message["content"], origins, strict=True)
    if message["role"] == "user":
        return "user", [_user(part, origin) for part, origin in pairs], origins
    if message["role"] == "assistant":
        return "model", [_turn(part, origin) for part, origin in pairs], origins
    parts: list[_Json] = []
    source: list[Origin] = []
    for part, origin in pairs:
        made = _result(part, origin)
        parts += made
        source += [origin] * len(made)
    return "user", parts, source


def _user(part: _Json, origin: Origin) -> _Json:
    if part["type"] == "text":
        return {"text": part["text"]}
    if part["type"] == "media":
        return _inline(user_media(_ROUTE, part, _MEDIA, origin))
    unsupported(_ROUTE, "user", ("text", "media"), origin)


def _turn(part: _Json, origin: Origin) -> _Json:
    kind = part["type"]
    if kind == "text":
        return {"text": part["text"]}
    if kind == "reasoning":
        made: _Json = {"text": part["text"], "thought": True}
    elif kind == "tool-call":
        made = {"functionCall": {"name": part["name"], "args": part["input"]}}
    else:
        unsupported(_ROUTE, "assistant", ("text", "reasoning", "tool-call"), origin)
    signature = text_of(keyed_state(part, "google"), "thoughtSignature")
    if signature is not None:
        made["thoughtSignature"] = signature
    return made


def _result(part: _Json, origin: Origin) -> list[_Json]:
    """A function response, and the media of its content as parts beside it."""
    if part["type"] != "tool-result":
        unsupported(_ROUTE, "tool", ("tool-result",), origin)
    result, name = part["result"], part["name"]
    media: list[_Json] = []
    if result["type"] == "content":
        text = "\n".join([item["text"] for item in result["value"] if item["type"] == "text"])
        for item in result["value"]:
            if item["type"] == "file":
                media.append(_inline(checked_media(_ROUTE, item["mime"], item["uri"], _MEDIA, origin)))
    else:
        text = result_text(result)
    return [{"functionResponse": {"name": name, "response": {"name": name, "content": text}}}, *media]


def _inline(media: Media) -> _Json:
    return {"inlineData": {"mimeType": media.mime, "data": media.data}}
