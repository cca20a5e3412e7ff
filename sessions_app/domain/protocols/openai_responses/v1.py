"""openai-responses bodies of the V1 client, which writes them with ``@ai-sdk/openai`` and its kin
(docs/contract/wire.md#6.1.9.5 and #6.1.10).

Read from source, not verified against recordings. The client stores nothing at the provider, so reasoning goes back
encrypted.
"""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.lowering.v1_packages import MANTLE, SDK_KEYS, package_of
from sessions_app.domain.protocols.v1_prompt import prompt, unsupported
from sessions_app.domain.wire.lowered import Body, Lowered, Origin, Path, Provenance
from sessions_app.domain.wire.target import Target

_WITHOUT_IDS: Final = frozenset({"@ai-sdk/openai", "@ai-sdk/azure", MANTLE, "@ai-sdk/github-copilot"})
"""Packages that are handed no item ids (docs/contract/wire.md#6.1.9.5)."""

type _Json = dict[str, Any]


def write(lowered: Lowered, target: Target) -> Body:
    """The body for ``lowered``. Raises ``LoweringError`` for a file it cannot send."""
    writer = _Writer(package_of(target))
    for message in prompt(lowered, target):
        pairs = list(zip(message.blocks, message.origins, strict=True))
        if message.role == "user":
            writer.user(pairs, message.origin)
        else:
            for block, origin in pairs:
                writer.block(block, origin)
    items, provenance = writer.finish()
    body = {"model": target.model, "input": items, "store": False}
    return Body("openai-responses", body, provenance, verified=False)


class _Writer:
    def __init__(self, package: str) -> None:
        self.key = SDK_KEYS.get(package, "openai")
        self.with_ids = package not in _WITHOUT_IDS
        self.items: list[tuple[_Json, Origin]] = []
        self.inner: dict[int, list[Origin]] = {}
        self.reasoning: dict[str, _Json] = {}

    def add(self, item: _Json, origin: Origin) -> None:
        self.items.append((item, origin))

    def user(self, pairs: list[tuple[_Json, Origin]], origin: Origin) -> None:
        content = [_user_part(block, where, index) for index, (block, where) in enumerate(pairs)]
        item = {"role": "user", "content": content}
        self.inner[id(item)] = [where for _, where in pairs]
        self.add(item, origin)

    def block(self, block: _Json, origin: Origin) -> None:
        kind = block["type"]
        if kind == "reasoning":
            self._reasoning(block, origin)
        elif block.get("providerExecuted"):
            return  # only a stored response could be referred to
        elif kind == "text":
            self._text(block, origin)
        elif kind == "tool-call":
            call: _Json = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
            if "input" in block:
                call["arguments"] = jsjson.encode(block["input"])
            self.add(call, origin)
        else:
            output = _output(block["result"])
            self.add({"type": "function_call_output", "call_id": block["id"], "output": output}, origin)

    def _state(self, block: _Json) -> _Json:
        state: _Json = block.get("providerMetadata", {}).get(self.key, {})
        return state

    def _text(self, block: _Json, origin: Origin) -> None:
        item: _Json = {"role": "assistant", "content": [{"type": "output_text", "text": block["text"]}]}
        state = self._state(block)
        if self.with_ids and state.get("itemId") is not None:
            item["id"] = state["itemId"]
        if state.get("phase") is not None:
            item["phase"] = state["phase"]
        self.add(item, origin)

    def _reasoning(self, block: _Json, origin: Origin) -> None:
        """One item per part, or per item id where ids are sent; what has no encrypted content is left out at the
        end."""
        state = self._state(block)
        encrypted = state.get("reasoningEncryptedContent")
        summary = [{"type": "summary_text", "text": block["text"]}] if block["text"] else []
        item_id = state.get("itemId") if self.with_ids else None
        known = self.reasoning.get(item_id) if isinstance(item_id, str) else None
        if known is not None:
            known["summary"] += summary
            if encrypted is not None:
                known["encrypted_content"] = encrypted
            return
        item: _Json = {"type": "reasoning"}
        if isinstance(item_id, str):
            item["id"] = item_id
            self.reasoning[item_id] = item
        item |= {"encrypted_content": encrypted, "summary": summary}
        self.add(item, origin)

    def finish(self) -> tuple[list[_Json], Provenance]:
        items: list[_Json] = []
        provenance: dict[Path, Origin] = {}
        for item, origin in self.items:
            if item.get("type") == "reasoning" and item["encrypted_content"] is None:
                continue
            at = ("input", len(items))
            provenance[at] = origin
            for index, where in enumerate(self.inner.get(id(item), ())):
                provenance[*at, "content", index] = where
            items.append(item)
        return items, provenance


def _user_part(block: _Json, origin: Origin, index: int) -> _Json:
    if block["type"] == "text":
        return {"type": "input_text", "text": block["text"]}
    media_type = block["mediaType"]
    if media_type.startswith("image/"):
        kind = "image/jpeg" if media_type == "image/*" else media_type
        return {"type": "input_image", "image_url": block.get("url") or f"data:{kind};base64,{block['data']}"}
    if media_type != "application/pdf":
        raise unsupported(f"file part media type {media_type}", origin)
    if "url" in block:
        return {"type": "input_file", "file_url": block["url"]}
    name = block.get("filename") or f"part-{index}.pdf"
    return {
        "type": "input_file",
        "filename": name,
        "file_data": f"data:application/pdf;base64,{block['data']}",
    }


def _output(result: _Json) -> Any:
    kind, value = result["type"], result["value"]
    if kind == "json":
        return jsjson.encode(value)
    return [_item(item) for item in value] if kind == "content" else value


def _item(item: _Json) -> _Json:
    if item["type"] == "text":
        return {"type": "input_text", "text": item["text"]}
    url = f"data:{item['mime']};base64,{item['uri'].partition(',')[2]}"
    if item["mime"].startswith("image/"):
        return {"type": "input_image", "image_url": url}
    return {"type": "input_file", "filename": "data", "file_data": url}
