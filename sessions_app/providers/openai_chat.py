"""The stream of chat completions, OpenAI's and the many servers that speak it more or less, as events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain.processor import events as ev
from sessions_app.domain.processor.events import Event, Usage

from .arguments import complete_call, is_whole
from .failures import failure_in

REASONS = {"tool_calls": "tool-calls", "function_call": "tool-calls", "content_filter": "content-filter"}
_TEXT, _REASONING = "text", "reasoning"


def events(stream: Iterable[Any]) -> Iterator[Event]:
    """Raises ``StreamFailed`` for an error that the stream tells of; ends without a ``StepFinish`` where the stream was
    cut."""
    state = _State()
    for chunk in stream:
        if isinstance(chunk, dict):
            yield from state.take(chunk)
    yield from state.end()


@dataclass(slots=True)
class _Call:
    call_id: str
    name: str
    text: str = ""
    done: bool = False


@dataclass(slots=True)
class _State:
    started: bool = False
    open: str = ""
    calls: dict[int, _Call] = field(default_factory=dict)
    reason: str = ""
    usage: Usage = ev.UNCOUNTED

    def take(self, chunk: dict[str, Any]) -> Iterator[Event]:
        if chunk.get("error"):
            raise ev.StreamFailed(failure_in(chunk["error"]))
        if not self.started:
            self.started = True
            yield ev.StepStart()
        if isinstance(chunk.get("usage"), dict):
            self.usage = usage_of(chunk["usage"])
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = choice.get("delta")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        if choice.get("finish_reason"):
            # Counts may come in a later chunk, so the step is finished only with the stream.
            self.reason = str(choice["finish_reason"])
            yield from self._close()
            yield from self._complete()

    def end(self) -> Iterator[Event]:
        if self.reason:
            yield ev.StepFinish(REASONS.get(self.reason, self.reason), self.usage)

    def _delta(self, delta: dict[str, Any]) -> Iterator[Event]:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            yield from self._switch(_REASONING)
            yield ev.ReasoningDelta(_REASONING, thought)
        content = delta.get("content")
        if isinstance(content, str) and content:
            yield from self._switch(_TEXT)
            yield ev.TextDelta(_TEXT, content)
        calls = delta.get("tool_calls")
        for entry in calls if isinstance(calls, list) else ():
            if isinstance(entry, dict):
                yield from self._call(entry)

    def _switch(self, kind: str) -> Iterator[Event]:
        if self.open != kind:
            yield from self._close()
            self.open = kind
            yield ev.TextStart(kind) if kind == _TEXT else ev.ReasoningStart(kind)

    def _close(self) -> Iterator[Event]:
        if self.open:
            yield ev.TextEnd(_TEXT) if self.open == _TEXT else ev.ReasoningEnd(_REASONING)
            self.open = ""

    def _call(self, entry: dict[str, Any]) -> Iterator[Event]:
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        index = entry["index"] if isinstance(entry.get("index"), int) else len(self.calls)
        call = self.calls.get(index)
        if call is None:
            yield from self._close()
            call = _Call(str(entry.get("id") or f"call_{index}"), str(function.get("name") or "invalid"))
            self.calls[index] = call
            yield ev.ToolInputStart(call.call_id, call.name)
        piece = function.get("arguments")
        if isinstance(piece, str) and piece and not call.done:
            call.text += piece
            yield ev.ToolInputDelta(call.call_id, piece)
            if "}" in piece and is_whole(call.text):
                # As the client does: the tool runs while the response goes on.
                yield from self._ready(call)

    def _complete(self) -> Iterator[Event]:
        """The response ended: what is there of a call's arguments is all of them, unless it was cut off."""
        if self.reason in ("length", "network_error", "error"):
            return
        for call in self.calls.values():
            if not call.done:
                yield from self._ready(call)

    def _ready(self, call: _Call) -> Iterator[Event]:
        call.done = True
        yield ev.ToolInputEnd(call.call_id)
        yield complete_call(call.call_id, call.name, call.text)


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens as the API counts them: what was cached is part of the input there, what was thought part of the
    output."""
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    thought = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(max(0, prompt - cached), max(0, completion - thought), thought, cached)


def _count(holder: Any, name: str) -> int:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and value >= 0 else 0
