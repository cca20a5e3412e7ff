"""Chat messages of ``@ai-sdk/openai-compatible``, on which the other packages' writers stand
(docs/contract/wire.md#6.1.10, #c5, #f5 to #f16)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.protocols.v1_prompt import PromptMessage, decoded_text, image, own, said, unsupported
from sessions_app.domain.wire.lowered import Origin
from sessions_app.domain.wire.target import Target

type Json = dict[str, Any]


class Writer(ABC):
    """Writes messages of a conversation; ``place`` is a message's place in it."""

    def __init__(self, target: Target, prompt: Sequence[PromptMessage]) -> None:
        self.target = target
        self.prompt = prompt

    @abstractmethod
    def user(self, message: PromptMessage, place: int) -> Json:
        """A user's message. Raises ``LoweringError`` for a file that has no place."""

    @abstractmethod
    def assistant(self, message: PromptMessage, place: int) -> Json:
        """An answer with its reasoning and calls. Raises ``LoweringError`` for what stops the client."""

    @abstractmethod
    def call(self, block: Json) -> Json:
        """A call in an answer."""

    @abstractmethod
    def tool(self, block: Json) -> Json:
        """The message of a result."""

    @abstractmethod
    def file(self, block: Json, origin: Origin, index: int) -> Json:
        """A user's file, the ``index``-th part of its message. Raises ``LoweringError`` for what has no place
        (docs/contract/wire.md#f6)."""

    @abstractmethod
    def unnamed(self, index: int) -> str:
        """What a PDF without a name is called."""


class Compatible(Writer):
    """What ``@ai-sdk/openai-compatible`` writes."""

    def user(self, message: PromptMessage, place: int) -> Json:
        if len(message.blocks) == 1 and message.blocks[0]["type"] == "text":
            return {"role": "user", "content": message.blocks[0]["text"]}
        return {"role": "user", "content": self.parts(message)}

    def parts(self, message: PromptMessage) -> list[Json]:
        """A user's texts and files. Raises ``LoweringError``."""
        return [
            {"type": "text", "text": block["text"]} if block["type"] == "text" else self.file(block, origin, index)
            for index, (block, origin) in enumerate(message.pairs())
        ]

    def assistant(self, message: PromptMessage, place: int) -> Json:
        result: Json = {"role": "assistant", "content": joined("text", message.blocks)}
        if thought := joined("reasoning", message.blocks):
            result["reasoning_content"] = thought
        return self.with_calls(result, message) | message.fields

    def with_calls(self, result: Json, message: PromptMessage) -> Json:
        """``result`` with the calls of ``message``, where there are any."""
        calls = [self.call(block) for block in message.blocks if block["type"] == "tool-call"]
        return {**result, "tool_calls": calls} if calls else result

    def call(self, block: Json) -> Json:
        # Gemini's signature goes where its own endpoint reads it (S23).
        call = {**plain_call(block), **own(block, "openaiCompatible")}
        signature = own(block, "google").get("thoughtSignature")
        if signature:
            call["extra_content"] = {"google": {"thought_signature": _text_of(signature)}}
        return call

    def tool(self, block: Json) -> Json:
        return {"role": "tool", "tool_call_id": block["id"], "content": said(block)} | own(block, "openaiCompatible")

    def file(self, block: Json, origin: Origin, index: int) -> Json:
        media_type = block["mediaType"]
        data = block.get("data")
        if media_type.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": image(block)}}
        if media_type.startswith("audio/") and data is not None:
            formats = {"audio/wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
            if media_type not in formats:
                raise unsupported(f"audio media type {media_type}", origin)
            return {"type": "input_audio", "input_audio": {"data": data, "format": formats[media_type]}}
        if media_type == "application/pdf" and data is not None:
            return document(block.get("filename") or self.unnamed(index), data)
        if media_type.startswith("text/") and data is not None:
            return {"type": "text", "text": decoded_text(data)}
        raise unsupported(f"file part media type {media_type}", origin)

    def unnamed(self, index: int) -> str:
        return "document.pdf"


def joined(kind: str, blocks: Iterable[Json]) -> str:
    """The texts of the blocks of ``kind``, one behind the other."""
    return "".join(block["text"] for block in blocks if block["type"] == kind)


def plain_call(block: Json) -> Json:
    """A call without anything of its package."""
    function = {"name": block["name"]}
    if "input" in block:
        function["arguments"] = jsjson.encode(block["input"])
    return {"id": block["id"], "type": "function", "function": function}


def document(name: str, data: str) -> Json:
    """A PDF."""
    return {"type": "file", "file": {"filename": name, "file_data": f"data:application/pdf;base64,{data}"}}


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else jsjson.encode(value)
