"""openai-responses bodies of the V1 client, which writes them with ``@ai-sdk/openai`` and its kin
(docs/contract/wire.md#6.1.9.5, #6.1.10, #6.9). The client stores nothing at the provider, so reasoning goes back
encrypted, and without item ids except to xAI.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.lowering.v1_packages import SDK_KEYS, is_verified, package_of
from sessions_app.domain.protocols.v1_prompt import image, own, prompt, said, unsupported
from sessions_app.domain.wire.lowered import Body, Lowered, Origin, Path, Provenance
from sessions_app.domain.wire.providers import COPILOT, XAI
from sessions_app.domain.wire.target import Target

type _Json = dict[str, Any]


def write(lowered: Lowered, target: Target) -> Body:
    """The body for ``lowered``. Raises ``LoweringError`` for a file it cannot send."""
    package = package_of(target)
    writer = _WRITERS.get(package, _Writer)(SDK_KEYS.get(package, "openai"))
    for message in prompt(lowered, target):
        if message.role == "user":
            writer.user(message.pairs(), message.origin)
        else:
            for block, origin in message.pairs():
                writer.block(block, origin)
    items, provenance = writer.finish()
    body = {"model": target.model, "input": items, "store": False}
    return Body("openai-responses", body, provenance, is_verified(target))


class _Writer:
    """OpenAI's and Azure's items. ``key`` is where the package keeps state."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.items: list[tuple[_Json, Origin]] = []
        self.inner: dict[int, list[Origin]] = {}

    def add(self, item: _Json, origin: Origin) -> None:
        self.items.append((item, origin))

    def user(self, pairs: Iterable[tuple[_Json, Origin]], origin: Origin) -> None:
        """Raises ``LoweringError`` for a file that has no place."""
        known = list(pairs)
        content = [self.part(block, where, index) for index, (block, where) in enumerate(known)]
        item = {"role": "user", "content": content}
        self.inner[id(item)] = [where for _, where in known]
        self.add(item, origin)

    def part(self, block: _Json, origin: Origin, index: int) -> _Json:
        if block["type"] == "text":
            return {"type": "input_text", "text": block["text"]}
        media_type = block["mediaType"]
        if media_type.startswith("image/"):
            return {"type": "input_image", "image_url": image(block)}
        if media_type != "application/pdf":
            raise unsupported(self.refused(media_type), origin)
        if "url" in block:
            return {"type": "input_file", "file_url": block["url"]}
        name = block.get("filename") or self.unnamed(index)
        return {"type": "input_file", "filename": name, "file_data": f"data:application/pdf;base64,{block['data']}"}

    def refused(self, media_type: str) -> str:
        """What is not supported, in the package's words."""
        return f"file part media type {media_type}"

    def unnamed(self, index: int) -> str:
        """What a PDF without a name is called."""
        return f"part-{index}.pdf"

    def block(self, block: _Json, origin: Origin) -> None:
        kind = block["type"]
        if kind == "reasoning":
            self.reasoning(block, origin)
        elif block.get("providerExecuted"):
            return  # only a stored response could be referred to
        elif kind == "text":
            self.add(self.text(block), origin)
        elif kind == "tool-call":
            self.add(self.call(block), origin)
        else:
            output = self.output(block)
            self.add({"type": "function_call_output", "call_id": block["id"], "output": output}, origin)

    def text(self, block: _Json) -> _Json:
        item: _Json = {"role": "assistant", "content": [{"type": "output_text", "text": block["text"]}]}
        phase = own(block, self.key).get("phase")
        return item if phase is None else {**item, "phase": phase}

    def call(self, block: _Json) -> _Json:
        call: _Json = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
        if "input" in block:
            call["arguments"] = jsjson.encode(block["input"])
        return call

    def output(self, block: _Json) -> Any:
        result = block["result"]
        return [_item(item) for item in result["value"]] if result["type"] == "content" else said(block)

    def reasoning(self, block: _Json, origin: Origin) -> None:
        """An item per part; what was not encrypted is left out."""
        encrypted = own(block, self.key).get("reasoningEncryptedContent")
        if encrypted is not None:
            self.add({"type": "reasoning", "encrypted_content": encrypted, "summary": _summary(block)}, origin)

    def finish(self) -> tuple[list[_Json], Provenance]:
        provenance: dict[Path, Origin] = {}
        for place, (item, origin) in enumerate(self.items):
            at = ("input", place)
            provenance[at] = origin
            for index, where in enumerate(self.inner.get(id(item), ())):
                provenance[*at, "content", index] = where
        return [item for item, _ in self.items], provenance


class _Copilot(_Writer):
    """Reasoning would need the item ids that the client takes out; results with media are JSON."""

    def text(self, block: _Json) -> _Json:
        return {"role": "assistant", "content": [{"type": "output_text", "text": block["text"]}]}

    def output(self, block: _Json) -> Any:
        return said(block)

    def reasoning(self, block: _Json, origin: Origin) -> None:
        """None is sent."""


class _Xai(_Writer):
    """Texts are plain, items keep their ids, and everything is completed."""

    def refused(self, media_type: str) -> str:
        return (
            f"file part media type {media_type} as inline data (xAI Responses requires a URL or a Files API reference"
            " for non-image files)"
        )

    def unnamed(self, index: int) -> str:
        return "file"

    def text(self, block: _Json) -> _Json:
        return {"role": "assistant", "content": block["text"], **self._id(block)}

    def call(self, block: _Json) -> _Json:
        return {"id": block["id"], **super().call(block), **self._id(block), "status": "completed"}

    def output(self, block: _Json) -> Any:
        result = block["result"]
        if result["type"] == "content":
            return "".join(item["text"] for item in result["value"] if item["type"] == "text")
        return said(block)

    def reasoning(self, block: _Json, origin: Origin) -> None:
        encrypted = own(block, self.key).get("reasoningEncryptedContent")
        sealed = {"encrypted_content": encrypted} if isinstance(encrypted, str) else {}
        known = self._id(block)
        if known or sealed:
            item = {"type": "reasoning", "id": "", **known, "summary": _summary(block), "status": "completed", **sealed}
            self.add(item, origin)

    def _id(self, block: _Json) -> _Json:
        known = own(block, self.key).get("itemId")
        return {"id": known} if isinstance(known, str) else {}


_WRITERS: Final[dict[str, type[_Writer]]] = {COPILOT: _Copilot, XAI: _Xai}


def _summary(block: _Json) -> list[_Json]:
    return [{"type": "summary_text", "text": block["text"]}] if block["text"] else []


def _item(item: _Json) -> _Json:
    if item["type"] == "text":
        return {"type": "input_text", "text": item["text"]}
    url = f"data:{item['mime']};base64,{item['uri'].partition(',')[2]}"
    if item["mime"].startswith("image/"):
        return {"type": "input_image", "image_url": url}
    return {"type": "input_file", "filename": "data", "file_data": url}
