"""The V2 client's writer of openai-chat (docs/contract/wire.md#6.3)."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.protocols.v2_common import (
    IMAGES,
    CachePolicy,
    checked_media,
    result_text,
    sendable,
    system_update,
    unsupported,
    user_media,
)
from sessions_app.domain.wire.lowered import NOBODY, Body, CanonicalMessage, Lowered, Origin, Path, Provenance
from sessions_app.domain.wire.target import Target

from .v1 import SYSTEM_PLACEHOLDER

_ROUTE: Final = "OpenAI Chat"

type _Json = dict[str, Any]
type _Blocks = list[tuple[str, Origin]]
"""(key of the list in the wire message, origin) of each of its items, in order."""


def write(
    lowered: Lowered,
    target: Target,
    *,
    cache: CachePolicy = "none",
    provenance: bool = True,
    placeholder: bool = True,
) -> Body:
    """The request body of ``lowered``. Raises ``LoweringError`` (InvalidRequest) where the client makes no request.

    ``placeholder`` starts it with a system message in place of the client's own prompt, so that indexes are the
    provider's (docs/contract/design.md#6). ``cache`` changes nothing: the protocol has no cache marks.
    """
    writer = _Writer()
    if placeholder:
        writer.add(dict(SYSTEM_PLACEHOLDER), NOBODY)
    for message, origins in sendable(lowered):
        writer.message(message, origins)
    writer.flush()
    body = {
        "model": target.model,
        "messages": writer.messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return Body("openai-chat", body, writer.provenance() if provenance else {})


class _Writer:
    def __init__(self) -> None:
        self.messages: list[_Json] = []
        self.origins: list[tuple[Origin, _Blocks]] = []
        self.images: list[tuple[_Json, Origin]] = []

    def add(self, message: _Json, origin: Origin, blocks: _Blocks | None = None) -> None:
        self.messages.append(message)
        self.origins.append((origin, blocks if blocks is not None else []))

    def message(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        role = message["role"]
        if role == "tool":
            for part, origin in zip(message["content"], origins, strict=True):
                self._tool(part, origin)
        elif role == "system":
            self._system(message, origins)
        else:
            self.flush()
            if role == "user":
                self._user(message, origins)
            else:
                self._assistant(message, origins)

    def flush(self) -> None:
        """Images of tool results wait for the end of their run and then come as one user message."""
        if self.images:
            blocks = [("content", origin) for _, origin in self.images]
            self.add({"role": "user", "content": [image for image, _ in self.images]}, blocks[0][1], blocks)
            self.images = []

    def _user(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        content: list[_Json] = []
        texts = True
        for part, origin in zip(message["content"], origins, strict=True):
            if part["type"] == "text":
                content.append({"type": "text", "text": part["text"]})
            elif part["type"] == "media":
                texts = False
                content.append(_image(user_media(_ROUTE, part, IMAGES, origin).url))
            else:
                unsupported(_ROUTE, "user", ("text", "media"), origin)
        whole = _whole(origins)
        if texts:
            self.add({"role": "user", "content": "".join([part["text"] for part in content])}, whole)
        else:
            blocks = [("content", origin) for origin in origins]
            self.add({"role": "user", "content": content}, whole, blocks)

    def _assistant(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        texts: list[str] = []
        reasoning: list[str] = []
        calls: list[_Json] = []
        blocks: _Blocks = []
        for part, origin in zip(message["content"], origins, strict=True):
            kind = part["type"]
            if kind == "tool-call":
                function = {"name": part["name"], "arguments": jsjson.encode(part["input"])}
                calls.append({"id": part["id"], "type": "function", "function": function})
                blocks.append(("tool_calls", origin))
            elif kind == "text":
                texts.append(part["text"])
            elif kind == "reasoning":
                reasoning.append(part["text"])
            else:
                unsupported(_ROUTE, "assistant", ("text", "reasoning", "tool-call"), origin)
        sent: _Json = {"role": "assistant", "content": "\n".join(texts) if texts else None}
        if calls:
            sent["tool_calls"] = calls
        if reasoning:
            sent["reasoning_content"] = "".join(reasoning)
        self.add(sent, _whole(origins), blocks)

    def _tool(self, part: _Json, origin: Origin) -> None:
        if part["type"] != "tool-result":
            unsupported(_ROUTE, "tool", ("tool-result",), origin)
        result = part["result"]
        if result["type"] == "content":
            content = "\n".join([item["text"] for item in result["value"] if item["type"] == "text"])
            for item in result["value"]:
                if item["type"] == "file":
                    media = checked_media(_ROUTE, item["mime"], item["uri"], IMAGES, origin)
                    self.images.append((_image(media.url), origin))
        else:
            content = result_text(result)
        self.add({"role": "tool", "tool_call_id": part["id"], "content": content}, origin)

    def _system(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        text = system_update(_ROUTE, message, origins)
        origin = origins[0]
        if self.images:
            self.flush()
        elif not self.messages or self.messages[-1]["role"] != "user":
            self.add({"role": "user", "content": text}, _whole(origins))
            return
        previous = self.messages[-1]
        if isinstance(previous["content"], str):
            previous["content"] += "\n" + text
        else:
            previous["content"].append({"type": "text", "text": text})
            self.origins[-1][1].append(("content", origin))

    def provenance(self) -> Provenance:
        found: dict[Path, Origin] = {}
        for index, (origin, blocks) in enumerate(self.origins):
            found["messages", index] = origin
            for at, (key, block) in enumerate(blocks):
                found["messages", index, key, at] = block
        return found


def _whole(origins: list[Origin]) -> Origin:
    return Origin(origins[0].message if origins else "", "")


def _image(url: str) -> _Json:
    return {"type": "image_url", "image_url": {"url": url}}
