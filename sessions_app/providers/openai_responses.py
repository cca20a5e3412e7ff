"""The stream of OpenAI's Responses API, as events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain.processor import events as ev
from sessions_app.domain.processor.events import Event, Usage

from .arguments import complete_call
from .failures import failure_in


def events(stream: Iterable[Any]) -> Iterator[Event]:
    """Raises ``StreamFailed`` for an error that the stream tells of; ends without a ``StepFinish`` where the stream was
    cut."""
    state = _State()
    for chunk in stream:
        if isinstance(chunk, dict):
            yield from state.take(chunk)


@dataclass(slots=True)
class _State:
    calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Item id -> (call id, name)."""
    called: bool = False

    def take(self, chunk: dict[str, Any]) -> Iterator[Event]:
        kind = str(chunk.get("type", "")).removeprefix("response.")
        item_id = str(chunk.get("item_id", ""))
        if kind == "created":
            yield ev.StepStart()
        elif kind == "output_item.added":
            yield from self._added(_dict(chunk.get("item")))
        elif kind == "output_item.done":
            yield from self._done(_dict(chunk.get("item")))
        elif kind in ("output_text.delta", "refusal.delta"):
            yield ev.TextDelta(item_id, str(chunk.get("delta", "")))
        elif kind == "reasoning_summary_part.added" and chunk.get("summary_index"):
            yield ev.ReasoningDelta(item_id, "\n\n")
        elif kind in ("reasoning_summary_text.delta", "reasoning_text.delta"):
            yield ev.ReasoningDelta(item_id, str(chunk.get("delta", "")))
        elif kind == "function_call_arguments.delta" and item_id in self.calls:
            yield ev.ToolInputDelta(self.calls[item_id][0], str(chunk.get("delta", "")))
        elif kind in ("completed", "incomplete"):
            yield self._finish(_dict(chunk.get("response")))
        elif kind in ("failed", "error"):
            error = chunk if kind == "error" else _dict(chunk.get("response")).get("error")
            raise ev.StreamFailed(failure_in(_error(error)))

    def _added(self, item: dict[str, Any]) -> Iterator[Event]:
        item_id, kind = str(item.get("id", "")), item.get("type")
        if kind == "message":
            yield ev.TextStart(item_id)
        elif kind == "reasoning":
            yield ev.ReasoningStart(item_id)
        elif kind == "function_call":
            call_id = str(item.get("call_id") or item_id)
            self.calls[item_id] = call_id, str(item.get("name") or "invalid")
            yield ev.ToolInputStart(*self.calls[item_id])

    def _done(self, item: dict[str, Any]) -> Iterator[Event]:
        item_id, kind = str(item.get("id", "")), item.get("type")
        if kind == "message":
            yield ev.TextEnd(item_id, {"itemId": item_id} if item_id else {})
        elif kind == "reasoning":
            encrypted = item.get("encrypted_content")
            kept = {"itemId": item_id} | ({"reasoningEncryptedContent": encrypted} if encrypted else {})
            yield ev.ReasoningEnd(item_id, kept)
        elif kind == "function_call":
            call_id, name = str(item.get("call_id") or item_id), str(item.get("name") or "invalid")
            self.called = True
            yield ev.ToolInputEnd(call_id)
            yield complete_call(call_id, name, str(item.get("arguments") or ""), {"itemId": item_id})

    def _finish(self, response: dict[str, Any]) -> Event:
        why = str(_dict(response.get("incomplete_details")).get("reason") or "")
        if why:
            reason = {"max_output_tokens": "length", "content_filter": "content-filter"}.get(why, why)
        else:
            reason = "tool-calls" if self.called else "stop"
        return ev.StepFinish(reason, usage_of(_dict(response.get("usage"))))


def _error(error: Any) -> Any:
    """An ``error`` event is itself the error, and its type says only that."""
    if isinstance(error, dict) and error.get("type") == "error":
        return {name: value for name, value in error.items() if name != "type"}
    return error


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens as the API counts them: what was cached is part of the input there, what was thought part of the
    output."""
    read, written = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    cached = _count(_dict(usage.get("input_tokens_details")), "cached_tokens")
    thought = _count(_dict(usage.get("output_tokens_details")), "reasoning_tokens")
    return Usage(max(0, read - cached), max(0, written - thought), thought, cached)


def _count(holder: dict[str, Any], name: str) -> int:
    value = holder.get(name)
    return value if isinstance(value, int) and value >= 0 else 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
