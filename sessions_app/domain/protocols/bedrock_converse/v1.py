"""bedrock-converse bodies of the V1 client, which writes them with ``@ai-sdk/amazon-bedrock``
(docs/contract/wire.md#6.1.10, #6.9)."""

from __future__ import annotations

import re
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.lowering.v1 import JS_SPACE, is_blank
from sessions_app.domain.lowering.v1_packages import STATES, is_verified
from sessions_app.domain.protocols.v1_prompt import PromptMessage, grouped, own, prompt
from sessions_app.domain.versions import sends_unsigned_alone
from sessions_app.domain.wire.lowered import BlockOrigins, Body, Lowered, LoweringError, Origin
from sessions_app.domain.wire.providers import BEDROCK
from sessions_app.domain.wire.target import Target

type _Blocks = list[tuple[dict[str, Any], Origin]]

_UNPLAIN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_IMAGES: Final = {"image/jpeg": "jpeg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}
DOCUMENTS: Final = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}


def write(lowered: Lowered, target: Target) -> Body:
    """The body for ``lowered``: an answer with nothing in it is left out, and what stands around it becomes one
    message. Raises ``LoweringError`` for a file it cannot send, or a signature that is no text."""
    messages: list[dict[str, Any]] = []
    sources: list[Origin] = []
    origins: list[list[Origin]] = []
    writer = _Writer()
    groups = list(grouped(prompt(lowered, target)))
    for index, group in enumerate(groups):
        role = "assistant" if group[0].role == "assistant" else "user"
        blocks: _Blocks = []
        for position, message in enumerate(group):
            last = lowered.ends and index == len(groups) - 1 and position == len(group) - 1
            blocks += writer.assistant(message, last) if role == "assistant" else writer.user(message)
        if not blocks and role == "assistant" and not sends_unsigned_alone(lowered.client):
            continue
        if not messages or messages[-1]["role"] != role:
            sources.append(group[0].origin)
            origins.append([])
            messages.append({"role": role, "content": []})
        origins[-1] += [origin for _, origin in blocks]
        messages[-1]["content"] += [block for block, _ in blocks]
    body = {"modelId": target.model, "messages": messages}
    provenance = BlockOrigins("messages", "content", origins, sources)
    return Body("bedrock-converse", body, provenance, is_verified(target))


class _Writer:
    """Counts the documents without a name of their own."""

    def __init__(self) -> None:
        self.documents = 0

    def user(self, message: PromptMessage) -> _Blocks:
        blocks: _Blocks = []
        for block, origin in zip(message.blocks, message.origins, strict=True):
            if message.role == "tool":
                written = {
                    "toolResult": {
                        "toolUseId": block["id"],
                        "content": self._content(block["result"], origin),
                    }
                }
            elif block["type"] == "text":
                written = {"text": block["text"]}
            else:
                written = self._file(block["mediaType"], block.get("data", ""), block.get("filename"), origin)
            blocks.append((written, origin))
        return blocks

    def _content(self, result: dict[str, Any], origin: Origin) -> list[dict[str, Any]]:
        """A result's content; there is no status, so errors look like successes."""
        kind, value = result["type"], result["value"]
        if kind != "content":
            return [{"text": jsjson.encode(value) if kind == "json" else value}]
        return [
            {"text": item["text"]}
            if item["type"] == "text"
            else self._file(item["mime"], item["uri"].partition(",")[2], None, origin)
            for item in value
        ]

    def _file(self, media_type: str, data: str, filename: str | None, origin: Origin) -> dict[str, Any]:
        source = {"source": {"bytes": data}}
        if media_type.startswith("image/"):
            return {"image": {"format": _format("image", media_type, _IMAGES, origin), **source}}
        kind = _format("file", media_type, DOCUMENTS, origin)
        if filename:
            name = filename.partition(".")[0]
        else:
            self.documents += 1
            name = f"document-{self.documents}"
        return {"document": {"format": kind, "name": name, **source}}

    def assistant(self, message: PromptMessage, last: bool) -> _Blocks:
        """The blocks of one message; in the last message of the request the last text is trimmed."""
        reasons = any(block["type"] == "reasoning" for block in message.blocks)
        blocks: _Blocks = []
        for index, (part, origin) in enumerate(zip(message.blocks, message.origins, strict=True)):
            trim = last and index == len(message.blocks) - 1
            block = _assistant_block(part, origin, reasons, trim)
            if block is not None:
                blocks.append((block, origin))
        return blocks


def _assistant_block(part: dict[str, Any], origin: Origin, reasons: bool, trim: bool) -> dict[str, Any] | None:
    kind = part["type"]
    if kind == "text":
        # Beside reasoning even blank text keeps its place, since signatures cover what stands around them (B6).
        if is_blank(part["text"]) and not reasons:
            return None
        return {"text": part["text"].strip(JS_SPACE) if trim else part["text"]}
    if kind == "reasoning":
        state = own(part, "bedrock")
        if any(not isinstance(state.get(name, ""), str) for name in STATES[BEDROCK]):
            raise LoweringError("invalid-state", "invalid bedrock provider options", origin)
        if state.get("signature") is not None:
            text = part["text"].strip(JS_SPACE) if trim else part["text"]
            return {"reasoningContent": {"reasoningText": {"text": text, "signature": state["signature"]}}}
        if state.get("redactedContent") is not None:
            return {"reasoningContent": {"redactedContent": state["redactedContent"]}}
        if state.get("redactedData") is not None:
            return {"reasoningContent": {"redactedReasoning": {"data": state["redactedData"]}}}
        return None
    if kind != "tool-call":
        return None
    return {"toolUse": {"toolUseId": part["id"], "name": _name(part["name"]), "input": _input(part)}}


def _name(name: str) -> str:
    """A tool's name in the characters that the service takes."""
    return _UNPLAIN.sub("", name) or "_"


def _input(part: dict[str, Any]) -> Any:
    """Arguments are an object; anything else is wrapped in one."""
    if "input" not in part:
        return {}
    value = part["input"]
    return value if isinstance(value, dict) else {"rawInvalidInput": value}


def _format(what: str, media_type: str, known: dict[str, str], origin: Origin) -> str:
    kind = known.get(media_type)
    if kind is None:
        words = f"Unsupported {what} mime type: {media_type}, expected one of: {', '.join(known)}"
        raise LoweringError("unsupported-file", words, origin)
    return kind
