"""Open calls as the V2 server ends them before it sends (docs/contract/v2-server.md#order.2).

For every assistant row that it reads and every call in it that is pending, streaming or running, the server stores a
failure, which lands on the *last* item of that call id in the row, and only where that one is open itself. Twins
therefore settle in three ways: behind an ended call an open one is ended, before it the open one stays, and of two open
ones the first stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from sessions_app.domain.model import Message, Part, ToolPart

OPEN: Final = frozenset({"pending", "streaming", "running"})

type _Json = dict[str, Any]


def settled(messages: Iterable[Message]) -> list[Message]:
    """The messages with the calls ended that the server ends; those without any are themselves. ``time.completed`` of
    an ended call is the time of the prompt, which nobody knows here: it is left out."""
    return [_settled(message) for message in messages]


def to_settle(message: Message) -> dict[int, ToolPart]:
    """The calls of ``message`` that the server ends, by their place among its parts, each with the call that is failed
    for it: itself, or the first open one of its id."""
    if message.kind != "assistant" or message.fault is not None:
        return {}
    last: dict[str, ToolPart] = {}
    failed: dict[str, ToolPart] = {}
    for tool in message.tools():
        last[tool.call_id] = tool
        if tool.status in OPEN:
            failed.setdefault(tool.call_id, tool)
    return {last[call_id].index: first for call_id, first in failed.items() if last[call_id].status in OPEN}


def _settled(message: Message) -> Message:
    ended = to_settle(message)
    if not ended:
        return message
    parts = [_ended(message, part, ended.get(part.index)) for part in message.parts]
    return replace(message, parts=parts, data={**message.data, "content": [part.data for part in parts]})


def _ended(message: Message, part: Part, failed: ToolPart | None) -> Part:
    if failed is None or not isinstance(part, ToolPart):
        return part
    generation = message.generation
    value = part.input if isinstance(part.input, dict) else {}
    state = _state(part, value, generation)
    data: _Json = {**part.data, **_provider(part, failed, generation), "state": state}
    data.pop("providerResultState", None)
    return replace(
        part,
        data=data,
        status="error",
        input=value,
        has_input=True,
        state=state,
        provider_executed=part.provider_executed or failed.provider_executed,
    )


def _state(part: ToolPart, value: _Json, generation: int) -> _Json:
    """Generation 2 as generation 1, generation 3 as read in source (docs/contract/formats.md#c1)."""
    ran = part.status == "running"
    if generation > 2:
        kept = part.state.get("metadata") if ran else None
        error = {"type": "aborted", "message": f"Tool execution interrupted: {part.tool}{_child(part, kept)}"}
        return {"status": "error", "error": error, "input": value, **({"metadata": kept} if kept else {})}
    return {
        "status": "error",
        "input": value,
        "content": part.state["content"] if ran else [],
        "structured": part.state["structured"] if ran else {},
        "error": {"type": "unknown", "message": "Tool execution interrupted"},
    }


def _child(part: ToolPart, metadata: Any) -> str:
    """A sub-agent's call names the session that it ran in."""
    child = metadata.get("sessionID") if part.tool == "subagent" and isinstance(metadata, dict) else None
    return f" (sessionID: {child})" if isinstance(child, str) else ""


def _provider(part: ToolPart, failed: ToolPart, generation: int) -> _Json:
    """Who ran it is written down with the end; the state of the call becomes that of the result in generation 1."""
    executed = part.provider_executed or failed.provider_executed
    if generation > 1:
        return {"executed": executed}
    kept = part.data.get("provider", {}).get("metadata")
    result = failed.data.get("provider", {}).get("metadata")
    named = {"metadata": kept, "resultMetadata": result}
    return {"provider": {"executed": executed, **{key: value for key, value in named.items() if value is not None}}}
