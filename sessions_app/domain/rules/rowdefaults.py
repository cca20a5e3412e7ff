"""What a missing or misshapen field becomes: schema defaults and what neighbours know, never nulls
(docs/contract/rules.md#2.19)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Message, Part, RowFault, ToolPart
from sessions_app.domain.repair import REMOVE, Edit, JsonPath

from .context import Context
from .operations import (
    UNKNOWN_OUTCOME,
    is_v2,
    keep_raw_input,
    last_time,
    parsed_object,
    part_time,
    safe_call_id,
    started,
)

NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
NOT_STORED = "The row holds no text of this error (noted by Suture)"
NO_OUTPUT = "The row holds no output of this call, outcome unknown (noted by Suture)"
_OPTIONAL = frozenset(
    {
        "summary",
        "tools",
        "format",
        "system",
        "variant",
        "finish",
        "metadata",
        "synthetic",
        "ignored",
        "snapshot",
        "overflow",
        "tail_start_id",
        "filename",
    }
)


def fill_message(context: Context, message: Message, fault: RowFault) -> tuple[Edit, ...]:
    """Edits for the one field that the fault names; () where nothing sensible is known."""
    path = tuple(fault.path.split("."))
    if is_v2(message):
        return (Edit(_steps(message.data, path), REMOVE),) if fault.spare else _fill_v2(message, path)
    if message.is_user:
        value = _user_default(context, message, path)
    elif message.is_assistant:
        value = _assistant_default(context, message, path)
    else:
        return ()
    if value is None and path[0] in _OPTIONAL:
        return (Edit(path, REMOVE),)
    return () if value is None else (Edit(path, value),)


def _steps(value: Any, path: tuple[str, ...]) -> JsonPath:
    """A fault's path with the places in arrays as numbers."""
    steps: list[str | int] = []
    for step in path:
        steps.append(int(step) if isinstance(value, list) else step)
        value = value[steps[-1]]
    return tuple(steps)


def _fill_v2(message: Message, path: tuple[str, ...]) -> tuple[Edit, ...]:
    defaults: dict[tuple[str, ...], Any] = {
        ("time",): {"created": message.time_created},
        ("time", "created"): message.time_created,
        ("agent",): "build",
        ("content",): [],
    }
    return (Edit(path, defaults[path]),) if path in defaults else ()


def _user_default(context: Context, message: Message, path: tuple[str, ...]) -> Any:
    at = context.places[message.id]
    if path == ("agent",):
        named = _near(context, context.agent_places, at)
        return named.data["agent"] if named else "build"
    if path[0] == "model":
        other = _near(context, context.model_places, at)
        if other is None:
            return None
        known = {"providerID": other.provider, "modelID": other.model}
        return known if len(path) == 1 else known.get(path[1])
    return _time_default(message, path)


def _near(context: Context, places: list[int], at: int) -> Message | None:
    """The next of these messages, else the last one before ``at``."""
    after, before = bisect_right(places, at), bisect_left(places, at)
    if after < len(places):
        return context.messages[places[after]]
    return context.messages[places[before - 1]] if before else None


def _assistant_default(context: Context, message: Message, path: tuple[str, ...]) -> Any:
    parent = context.messages_by_id.get(message.parent_id or "")
    before = bisect_left(context.user_places, context.places[message.id])
    earlier = context.messages[context.user_places[before - 1]] if before else None
    prompt = parent or earlier
    if path in (("agent",), ("mode",)):
        other = "mode" if path == ("agent",) else "agent"
        return _text(message.data, other) or _text(prompt.data if prompt else {}, "agent") or "build"
    if path == ("parentID",):
        return earlier.id if earlier else None
    if path == ("modelID",):
        return (prompt.model if prompt else "") or None
    if path == ("providerID",):
        return (prompt.provider if prompt else "") or None
    if path[0] == "path":
        directory = _text(context.row, "directory") or "/"
        return {"cwd": directory, "root": directory} if len(path) == 1 else directory
    if path == ("error",):
        return {"name": "UnknownError", "data": {"message": dumps(message.data.get("error"))}}
    return _count_default(path) if path[0] in ("cost", "tokens") else _time_default(message, path)


def _count_default(path: tuple[str, ...]) -> Any:
    if path == ("cost",):
        return 0
    value: Any = NO_TOKENS
    for name in path[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _time_default(message: Message, path: tuple[str, ...]) -> Any:
    if path == ("time",):
        return {"created": message.time_created}
    if path == ("time", "created"):
        return message.time_created
    return last_time(message) if path == ("time", "completed") else None


def _text(data: Any, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def fill_part(context: Context, message: Message, part: Part, fault: RowFault) -> tuple[Edit, ...]:
    """As ``fill_message`` for a part."""
    path = tuple(fault.path.split("."))
    if is_v2(message):
        if fault.spare:
            return (Edit(_steps(part.data, path[2:]), REMOVE),)
        return _fill_item(context, message, part, path[2:])
    if isinstance(part, ToolPart):
        return _fill_tool(context, message, part, path)
    time = part_time(part, message)
    defaults: dict[tuple[str, JsonPath], Any] = {
        ("reasoning", ("time",)): {"start": time, "end": time},
        ("reasoning", ("time", "start")): time,
        ("reasoning", ("time", "end")): time,
        ("text", ("time", "start")): time,
        ("text", ("time",)): REMOVE,
        ("step-finish", ("reason",)): "unknown",
        ("compaction", ("auto",)): False,
        ("retry", ("attempt",)): 1,
    }
    if (part.kind, path) in defaults:
        return (Edit(path, defaults[part.kind, path]),)
    if part.kind == "step-finish" and path[0] in ("cost", "tokens"):
        return (Edit(path, _count_default(path)),)
    return (Edit(path, REMOVE),) if path[0] in _OPTIONAL and part.kind != "snapshot" else ()


def _fill_item(context: Context, message: Message, item: Part, path: tuple[str, ...]) -> tuple[Edit, ...]:
    """A V2 content item; ``path`` is inside it. The fields each tool state must have are those of
    docs/contract/formats.md#b2."""
    if not isinstance(item, ToolPart):
        return (Edit(path, f"{item.kind}-{item.index}"),) if path == ("id",) else ()
    time = {"created": message.time_created}
    failure = {"type": "unknown", "message": NOT_STORED}
    named: dict[tuple[str, ...], Any] = {
        ("name",): "invalid",
        ("time",): time,
        ("time", "created"): message.time_created,
        ("state", "metadata"): {},
        ("state", "structured"): {},
        ("state", "error"): failure,
        ("state", "error", "type"): "unknown",
        ("state", "error", "message"): NOT_STORED,
    }
    if path in named:
        held = item.state.get("error")
        if path == ("state", "error") and isinstance(held, str):
            return (Edit(path, {"type": "unknown", "message": held}),)
        return (Edit(path, named[path]),)
    if path == ("id",):
        return (Edit(path, _unused_call_id(context, item)),)
    if path == ("state", "content"):
        return _fill_content(message, item)
    if path[:2] == ("state", "input") and item.status in ("running", "completed", "error"):
        parsed = parsed_object(item.input) if isinstance(item.input, str) else None
        return tuple(keep_raw_input(message, item, {}) if parsed is None else (Edit(("state", "input"), parsed),))
    return ()


def _unused_call_id(context: Context, tool: ToolPart) -> str:
    return context.fresh(tool.id, lambda number: safe_call_id(tool.id, number), lambda text: text in context.call_ids)


def _fill_content(message: Message, tool: ToolPart) -> tuple[Edit, ...]:
    """What a result says where its ``content`` is missing or empty; a missing output is not made up."""
    path: JsonPath = ("state", "content")
    if tool.status == "error":
        return (Edit(path, REMOVE),) if message.generation >= 3 else (Edit(path, []),)
    if isinstance(tool.state.get("output"), str):
        return (Edit(path, [{"type": "text", "text": tool.state["output"]}]),)
    if message.generation < 3:
        return (Edit(path, []),)
    if tool.status != "completed":
        return ()
    return (
        Edit(path, REMOVE),
        Edit(("state", "status"), "error"),
        Edit(("state", "error"), {"type": "unknown", "message": NO_OUTPUT}),
    )


def _fill_tool(context: Context, message: Message, tool: ToolPart, path: tuple[str, ...]) -> tuple[Edit, ...]:
    time = part_time(tool, message)
    if path == ("callID",):
        return (Edit(path, _unused_call_id(context, tool)),)
    if path == ("tool",):
        return (Edit(path, "invalid"),)
    if path == ("metadata",):
        return (Edit(path, REMOVE),)
    if path == ("state",):
        state = {
            "status": "error",
            "input": {},
            "error": UNKNOWN_OUTCOME,
            "metadata": {"interrupted": True},
            "time": {"start": time, "end": time},
        }
        return (Edit(path, state),)
    if len(path) < 2 or path[0] != "state":
        return ()
    if path == ("state", "output"):
        return _fill_output(tool, time)
    defaults: dict[str, Any] = {
        "title": tool.tool or "tool",
        "metadata": {},
        "raw": "",
        "error": NOT_STORED if tool.state.get("error") is None else dumps(tool.state["error"]),
        "time": {"start": time, "end": time},
        "attachments": REMOVE,
    }
    if path[1] == "title" and tool.status == "running":
        return (Edit(path, REMOVE),)
    if path[1] == "time" and len(path) == 3:
        start = started(tool)
        return (Edit(path, start if path[2] == "end" and start is not None else time),)
    return (Edit(path, defaults[path[1]]),) if path[1] in defaults and len(path) == 2 else ()


def _fill_output(tool: ToolPart, time: int) -> tuple[Edit, ...]:
    """An output of another shape becomes its text; a missing one is not made up, the call ends as an error."""
    if tool.state.get("output") is not None:
        return (Edit(("state", "output"), dumps(tool.state["output"])),)
    edits = [
        Edit(("state", "status"), "error"),
        Edit(("state", "error"), NO_OUTPUT),
        Edit(("state", "output"), REMOVE),
    ]
    if not isinstance(tool.state.get("time"), dict):
        edits.append(Edit(("state", "time"), {"start": time, "end": time}))
    return tuple(edits)
