"""The stream of Anthropic's Messages API, as events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain.processor import events as ev
from sessions_app.domain.processor.events import Event, Usage

from .arguments import complete_call
from .failures import failure_in

REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}


def events(stream: Iterable[Any]) -> Iterator[Event]:
    """Raises ``StreamFailed`` for an error that the stream tells of; ends without a ``StepFinish`` where the stream was
    cut."""
    state = _State()
    for chunk in stream:
        if isinstance(chunk, dict):
            yield from state.take(chunk)


@dataclass(slots=True)
class _Block:
    kind: str
    key: str
    name: str = ""
    text: list[str] = field(default_factory=list)
    start: Any = None
    signature: str = ""


@dataclass(slots=True)
class _State:
    blocks: dict[int, _Block] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    reason: str = ""

    def take(self, chunk: dict[str, Any]) -> Iterator[Event]:
        kind = chunk.get("type")
        if kind == "message_start":
            self._count(_dict(chunk.get("message")).get("usage"))
            yield ev.StepStart()
        elif kind == "content_block_start":
            yield from self._open(chunk)
        elif kind == "content_block_delta":
            yield from self._delta(chunk)
        elif kind == "content_block_stop":
            block = self.blocks.pop(chunk.get("index", -1), None)
            yield from self._close(block) if block is not None else ()
        elif kind == "message_delta":
            self._count(chunk.get("usage"))
            self.reason = _dict(chunk.get("delta")).get("stop_reason") or self.reason
        elif kind == "message_stop":
            yield ev.StepFinish(REASONS.get(self.reason, self.reason or "unknown"), usage_of(self.usage))
        elif kind == "error":
            raise ev.StreamFailed(failure_in(chunk.get("error")))

    def _open(self, chunk: dict[str, Any]) -> Iterator[Event]:
        index, start = chunk.get("index", -1), _dict(chunk.get("content_block"))
        kind = start.get("type")
        key = str(index)
        if kind == "text":
            self.blocks[index] = _Block("text", key)
            yield ev.TextStart(key)
            if start.get("text"):
                yield ev.TextDelta(key, start["text"])
        elif kind == "thinking":
            self.blocks[index] = _Block("thinking", key, signature=start.get("signature") or "")
            yield ev.ReasoningStart(key)
            if start.get("thinking"):
                yield ev.ReasoningDelta(key, start["thinking"])
        elif kind == "redacted_thinking":
            self.blocks[index] = _Block("redacted", key)
            yield ev.ReasoningStart(key, {"redactedData": start.get("data", "")})
        elif kind in ("tool_use", "server_tool_use"):
            block = _Block(kind, str(start.get("id") or f"toolu_{key}"), str(start.get("name") or "invalid"))
            block.start = start.get("input")
            self.blocks[index] = block
            yield ev.ToolInputStart(block.key, block.name)
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            yield _server_result(start)

    def _delta(self, chunk: dict[str, Any]) -> Iterator[Event]:
        block, delta = self.blocks.get(chunk.get("index", -1)), _dict(chunk.get("delta"))
        if block is None:
            return
        kind = delta.get("type")
        if kind == "text_delta":
            yield ev.TextDelta(block.key, str(delta.get("text", "")))
        elif kind == "thinking_delta":
            yield ev.ReasoningDelta(block.key, str(delta.get("thinking", "")))
        elif kind == "signature_delta":
            block.signature += str(delta.get("signature", ""))
        elif kind == "input_json_delta":
            text = str(delta.get("partial_json", ""))
            block.text.append(text)
            if text:
                yield ev.ToolInputDelta(block.key, text)

    def _close(self, block: _Block) -> Iterator[Event]:
        if block.kind == "text":
            yield ev.TextEnd(block.key)
        elif block.kind == "thinking":
            yield ev.ReasoningEnd(block.key, {"signature": block.signature} if block.signature else {})
        elif block.kind == "redacted":
            yield ev.ReasoningEnd(block.key)
        else:
            yield ev.ToolInputEnd(block.key)
            text = "".join(block.text) or (json.dumps(block.start) if block.start else "")
            call = complete_call(block.key, block.name, text)
            if block.kind == "server_tool_use":
                call = ev.ToolCall(call.call_id, call.name, call.input, call.problem, call.raw, executed=True)
            yield call

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones: they are running sums."""
        self.usage |= {name: value for name, value in _dict(usage).items() if isinstance(value, int)}


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens as the API counts them."""
    count = {name: value for name, value in usage.items() if isinstance(value, int)}.get
    return Usage(
        input=count("input_tokens", 0),
        output=count("output_tokens", 0),
        cache_read=count("cache_read_input_tokens", 0),
        cache_write=count("cache_creation_input_tokens", 0),
    )


def _server_result(block: dict[str, Any]) -> Event:
    call_id, content = str(block.get("tool_use_id", "")), block.get("content")
    if isinstance(content, dict) and str(content.get("type", "")).endswith("_error"):
        return ev.ToolError(call_id, str(content.get("error_code", "unavailable")))
    return ev.ToolResult(call_id, ev.ToolOutput(json.dumps(content, ensure_ascii=False)))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
