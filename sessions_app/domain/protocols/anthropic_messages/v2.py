"""The V2 client's writer of anthropic-messages (docs/contract/wire.md#6.3)."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.protocols.v2_common import (
    IMAGES,
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
    user_media,
)
from sessions_app.domain.wire.lowered import BlockOrigins, Body, CanonicalMessage, Lowered, Origin
from sessions_app.domain.wire.target import Target

_ROUTE: Final = "Anthropic Messages"
_NATIVE_SYSTEM: Final = "claude-opus-4-8"
"""The one model that takes system messages in mid-conversation."""
_SERVER_RESULTS: Final = {
    "web_search": "web_search_tool_result",
    "code_execution": "code_execution_tool_result",
    "web_fetch": "web_fetch_tool_result",
}
_MAX_TOKENS: Final = 4096

type _Block = dict[str, Any]


def write(lowered: Lowered, target: Target, *, cache: CachePolicy = "none", provenance: bool = True) -> Body:
    """The request body of ``lowered``. Raises ``LoweringError`` (InvalidRequest) where the client makes no request."""
    writer = _Writer(lowered, target, cache)
    writer.write()
    body = {"model": target.model, "messages": writer.messages, "stream": True, "max_tokens": _MAX_TOKENS}
    found = BlockOrigins("messages", "content", writer.origins) if provenance else {}
    return Body("anthropic-messages", body, found)


class _Writer:
    def __init__(self, lowered: Lowered, target: Target, cache: CachePolicy) -> None:
        self.source = sendable(lowered)
        self.native = target.model == _NATIVE_SYSTEM
        self.marks = CacheMarks((message for message, _ in self.source), cache)
        self.mark: _Block = {"type": "ephemeral", "ttl": "1h"} if self.marks.long else {"type": "ephemeral"}
        self.messages: list[dict[str, Any]] = []
        self.origins: list[list[Origin]] = []
        self.open_calls: set[str] = set()

    def write(self) -> None:
        for index, (message, origins) in enumerate(self.source):
            role = message["role"]
            marked = self.marks.at(index)
            if role == "user":
                self._add("user", [self._user(part, o) for part, o in _pairs(message, origins)], origins)
            elif role == "assistant":
                self._add("assistant", [self._turn(part, o) for part, o in _pairs(message, origins)], origins)
            elif role == "tool":
                self._add("user", [self._result(part, o) for part, o in _pairs(message, origins)], origins)
            else:
                self._system(index, message, origins)
                continue
            if marked >= 0:
                self._cache(self.messages[-1]["content"][marked])

    def _add(self, role: str, content: list[_Block], origins: list[Origin]) -> None:
        self.messages.append({"role": role, "content": content})
        self.origins.append(origins)

    def _cache(self, block: _Block) -> None:
        # The client reads the mark of texts and tool results only.
        if block["type"] in ("text", "tool_result"):
            block["cache_control"] = self.mark

    def _user(self, part: dict[str, Any], origin: Origin) -> _Block:
        if part["type"] == "text":
            return {"type": "text", "text": part["text"]}
        if part["type"] == "media":
            return _image(*user_media(_ROUTE, part, IMAGES, origin))
        unsupported(_ROUTE, "user", ("text", "media"), origin)

    def _turn(self, part: dict[str, Any], origin: Origin) -> _Block:
        kind = part["type"]
        if kind == "text":
            return {"type": "text", "text": part["text"]}
        if kind == "tool-call":
            if part.get("providerExecuted"):
                return {
                    "type": "server_tool_use",
                    "id": part["id"],
                    "name": part["name"],
                    "input": part["input"],
                }
            self.open_calls.add(part["id"])
            return {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part["input"]}
        if kind == "reasoning":
            block: _Block = {"type": "thinking", "thinking": part["text"]}
            signature = text_of(keyed_state(part, "anthropic"), "signature")
            if signature is not None:
                block["signature"] = signature
            return block
        if kind == "tool-result" and part.get("providerExecuted"):
            name = _SERVER_RESULTS.get(part["name"])
            if name is None:
                refuse(f"{_ROUTE} does not know how to round-trip server tool result for {part['name']}", origin)
            return {"type": name, "tool_use_id": part["id"], "content": part["result"]["value"]}
        unsupported(_ROUTE, "assistant", ("text", "reasoning", "tool-call"), origin)

    def _result(self, part: dict[str, Any], origin: Origin) -> _Block:
        if part["type"] != "tool-result":
            unsupported(_ROUTE, "tool", ("tool-result",), origin)
        self.open_calls.discard(part["id"])
        result = part["result"]
        if result["type"] == "content":
            content: Any = [_result_item(item, origin) for item in result["value"]]
        else:
            content = result_text(result)
        block: _Block = {"type": "tool_result", "tool_use_id": part["id"], "content": content}
        if result["type"] == "error":
            block["is_error"] = True
        return block

    def _system(self, index: int, message: CanonicalMessage, origins: list[Origin]) -> None:
        if self.open_calls:
            refuse(f"{_ROUTE} system updates cannot split a local tool call from its tool result", origins[0])
        text = system_update(_ROUTE, message, origins)
        if self.native and self._takes_system(index):
            content = [{"type": "text", "text": part["text"]} for part in message["content"]]
            self._add("system", content, origins)
            if self.marks.at(index) >= 0:
                self._cache(content[self.marks.at(index)])
            return
        block: _Block = {"type": "text", "text": text}
        if self.marks.at(index) >= 0:
            self._cache(block)
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages[-1]["content"].append(block)
            self.origins[-1] = [*self.origins[-1], origins[0]]
        else:
            self._add("user", [block], origins[:1])

    def _takes_system(self, index: int) -> bool:
        """Whether a system message can stand here: behind a user's or a tool's turn, and with an assistant's or nothing
        next."""
        if index == 0:
            return False
        previous = self.source[index - 1][0]
        following = self.source[index + 1][0]["role"] if index + 1 < len(self.source) else "assistant"
        return (previous["role"] in ("user", "tool") or _ends_on_server(previous)) and following == "assistant"


def _pairs(message: CanonicalMessage, origins: list[Origin]) -> zip[tuple[dict[str, Any], Origin]]:
    return zip(message["content"], origins, strict=True)


def _ends_on_server(message: CanonicalMessage) -> bool:
    last = message["content"][-1] if message["content"] else {}
    return bool(
        message["role"] == "assistant" and last.get("type") == "tool-call" and last.get("providerExecuted") is True
    )


def _result_item(item: dict[str, Any], origin: Origin) -> _Block:
    if item["type"] == "text":
        return {"type": "text", "text": item["text"]}
    return _image(*checked_media(_ROUTE, item["mime"], item["uri"], IMAGES, origin))


def _image(mime: str, data: str) -> _Block:
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
