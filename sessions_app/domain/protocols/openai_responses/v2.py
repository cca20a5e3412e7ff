"""The V2 client's writer of openai-responses, stateless (``store: false``; docs/contract/wire.md#6.3)."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.protocols.v2_common import (
    IMAGES,
    CachePolicy,
    checked_media,
    keyed_state,
    result_text,
    sendable,
    system_update,
    text_of,
    unsupported,
    user_media,
)
from sessions_app.domain.wire.lowered import Body, CanonicalMessage, Lowered, Origin, Path, Provenance
from sessions_app.domain.wire.target import Target

_ROUTE: Final = "OpenAI Responses"

type _Json = dict[str, Any]


def write(lowered: Lowered, target: Target, *, cache: CachePolicy = "none", provenance: bool = True) -> Body:
    """The request body of ``lowered``. Raises ``LoweringError`` (InvalidRequest) where the client makes no request.
    ``cache`` changes nothing: the protocol has no cache marks."""
    writer = _Writer()
    for message, origins in sendable(lowered):
        writer.message(message, origins)
    kept = [
        (item, origins)
        for item, origins in zip(writer.items, writer.origins, strict=True)
        # The server takes reasoning back only with its encrypted content, which may have come with the item's last
        # part.
        if item.get("type") != "reasoning" or "encrypted_content" in item
    ]
    body = {"model": target.model, "input": [item for item, _ in kept], "store": False, "stream": True}
    return Body("openai-responses", body, _provenance(kept) if provenance else {})


class _Writer:
    def __init__(self) -> None:
        self.items: list[_Json] = []
        self.origins: list[list[Origin]] = []

    def message(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        role = message["role"]
        if role == "assistant":
            self._assistant(message, origins)
        elif role == "tool":
            for part, origin in zip(message["content"], origins, strict=True):
                self._add(_output(part, origin), [origin])
        elif role == "user":
            pairs = zip(message["content"], origins, strict=True)
            self._add({"role": "user", "content": [_input(part, origin) for part, origin in pairs]}, origins)
        else:
            self._system(message, origins)

    def _add(self, item: _Json, origins: list[Origin]) -> None:
        self.items.append(item)
        self.origins.append(origins)

    def _assistant(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        texts: list[_Json] = []
        from_texts: list[Origin] = []
        reasoning: dict[str, _Json] = {}
        for part, origin in zip(message["content"], origins, strict=True):
            kind = part["type"]
            if kind == "text":
                texts.append({"type": "output_text", "text": part["text"]})
                from_texts.append(origin)
                continue
            if texts:
                self._add({"role": "assistant", "content": texts}, from_texts)
                texts, from_texts = [], []
            hosted = part.get("providerExecuted") is True
            if kind == "reasoning":
                self._reasoning(part, origin, reasoning)
            elif kind == "tool-call":
                if not hosted:
                    self._add(_call(part), [origin])
            elif not (kind == "tool-result" and hosted):
                # Hosted results are sent as references, and those only where the server stores items.
                unsupported(_ROUTE, "assistant", ("text", "reasoning", "tool-call", "tool-result"), origin)
        if texts:
            self._add({"role": "assistant", "content": texts}, from_texts)

    def _reasoning(self, part: _Json, origin: Origin, known: dict[str, _Json]) -> None:
        """A reasoning item; further parts of one item join it. What has no item id is not sent."""
        state = keyed_state(part, "openai")
        item_id = text_of(state, "itemId")
        if not item_id:
            return
        summary = [{"type": "summary_text", "text": part["text"]}] if part["text"] != "" else []
        encrypted = text_of(state, "reasoningEncryptedContent")
        item = known.get(item_id)
        if item is None:
            item = known[item_id] = {"type": "reasoning", "summary": summary}
            self._add(item, [origin])
        else:
            item["summary"] += summary
        if encrypted is not None:
            item["encrypted_content"] = encrypted

    def _system(self, message: CanonicalMessage, origins: list[Origin]) -> None:
        block = {"type": "input_text", "text": system_update(_ROUTE, message, origins)}
        if self.items and self.items[-1].get("role") == "user":
            self.items[-1]["content"].append(block)
            self.origins[-1] = [*self.origins[-1], origins[0]]
        else:
            self._add({"role": "user", "content": [block]}, origins[:1])


def _provenance(items: list[tuple[_Json, list[Origin]]]) -> Provenance:
    """An item made of one part is that part; a message item lists its content beside."""
    found: dict[Path, Origin] = {}
    for index, (item, origins) in enumerate(items):
        if origins:
            found["input", index] = origins[0] if "type" in item else Origin(origins[0].message, "")
        if "content" in item:
            for at, origin in enumerate(origins):
                found["input", index, "content", at] = origin
    return found


def _input(part: _Json, origin: Origin) -> _Json:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "media":
        return {"type": "input_image", "image_url": user_media(_ROUTE, part, IMAGES, origin).url}
    unsupported(_ROUTE, "user", ("text", "media"), origin)


def _call(part: _Json) -> _Json:
    return {
        "type": "function_call",
        "call_id": part["id"],
        "name": part["name"],
        "arguments": jsjson.encode(part["input"]),
    }


def _output(part: _Json, origin: Origin) -> _Json:
    if part["type"] != "tool-result":
        unsupported(_ROUTE, "tool", ("tool-result",), origin)
    result = part["result"]
    if result["type"] == "content":
        output: Any = [_output_item(item, origin) for item in result["value"]]
    else:
        output = result_text(result)
    return {"type": "function_call_output", "call_id": part["id"], "output": output}


def _output_item(item: _Json, origin: Origin) -> _Json:
    if item["type"] == "text":
        return {"type": "input_text", "text": item["text"]}
    return {
        "type": "input_image",
        "image_url": checked_media(_ROUTE, item["mime"], item["uri"], IMAGES, origin).url,
    }
