"""What the client of each generation decodes: message types, content items and tool states
(docs/contract/formats.md#b2)."""

from __future__ import annotations

from typing import Final

from .shape import (
    Check,
    anything,
    array,
    base64,
    boolean,
    literal,
    number,
    record,
    records,
    struct,
    tagged,
    text,
    times,
)

GENERATIONS: Final = (1, 2, 3)

_NAMED = struct({"start": number, "end": number, "text": text})
_CREATED = times("completed")
_MODEL = struct({"id": text, "providerID": text}, {"variant": text})
_CONTENT = tagged(
    "type",
    {"text": struct({"text": text}), "file": struct({"uri": text, "mime": text}, {"name": text})},
)
TOOL_CONTENT: Final = array(_CONTENT)
"""The ``content`` of a tool state, and of a tool result of type content."""
_KEYED = records(record)

_FAILED = struct({"type": text, "message": text}, {"status": number})
_ERROR: dict[int, Check] = {1: struct({"type": literal("unknown"), "message": text}), 2: _FAILED, 3: _FAILED}


def _tool_state(generation: int) -> Check:
    if generation == 3:
        filled = array(_CONTENT, filled=True)
        return tagged(
            "status",
            {
                "streaming": struct({"input": text}),
                "running": struct({"input": record, "metadata": record}),
                "completed": struct({"input": record, "content": filled}, {"metadata": record}),
                "error": struct({"input": record, "error": _FAILED}, {"content": filled, "metadata": record}),
            },
        )
    output: dict[str, Check] = {"input": record, "structured": record, "content": TOOL_CONTENT}
    more: dict[str, Check] = {"result": anything}
    if generation == 1:
        more |= {"attachments": array(record), "outputPaths": array(text)}
    return tagged(
        "status",
        {
            "pending" if generation == 1 else "streaming": struct({"input": text}),
            "running": struct(output),
            "completed": struct(output, more),
            "error": struct({**output, "error": _ERROR[generation]}, {"result": anything}),
        },
    )


def _items(generation: int) -> Check:
    time = times("ran", "completed", "pruned")
    tool: dict[str, Check] = {"id": text, "name": text, "state": _tool_state(generation), "time": time}
    if generation == 1:
        provider = struct({"executed": boolean}, {"metadata": _KEYED, "resultMetadata": _KEYED})
        return tagged(
            "type",
            {
                "text": struct({"id": text, "text": text}),
                "reasoning": struct({"id": text, "text": text}, {"providerMetadata": _KEYED, "time": _CREATED}),
                "tool": struct(tool, {"provider": provider}),
            },
        )
    state: dict[str, Check] = {"state": record, "native": record}
    return tagged(
        "type",
        {
            "text": struct({"text": text}, state if generation == 3 else None),
            "reasoning": struct({"text": text}, {**state, "time": _CREATED}),
            "tool": struct(
                tool,
                {
                    "executed": boolean,
                    "providerState": record,
                    "providerResultState": record,
                    "native": record,
                },
            ),
        },
    )


def _user(generation: int) -> Check:
    if generation == 1:
        file = struct({"uri": text, "mime": text}, {"name": text, "description": text, "source": _NAMED})
        agent = struct({"name": text}, {"source": _NAMED})
    else:
        source = tagged("type", {"inline": struct({}), "uri": struct({"uri": text})})
        file = struct(
            {"data": base64, "mime": text, "source": source},
            {"name": text, "description": text, "mention": _NAMED},
        )
        agent = struct({"name": text}, {"mention": _NAMED})
    optional = {"files": array(file), "agents": array(agent)}
    if generation == 3:
        optional["skills"] = array(struct({"id": text, "name": text}, {"text": text, "mention": _NAMED}))
    return _message({"text": text}, optional)


def _compaction(generation: int) -> Check:
    reason = literal("auto", "manual")
    whole: dict[str, Check] = {"reason": reason, "summary": text, "recent": text}
    if generation == 1:
        return _message(whole)
    context = {"providerContext": struct({"messages": array(record), "provenance": record})}
    return tagged(
        "status",
        {
            "running": _message(whole),
            "completed": _message(whole, context if generation == 3 else None),
            "failed": _message({"reason": reason, "error": _ERROR[generation]}),
        },
    )


def _shell(generation: int) -> Check:
    if generation == 1:
        return _message({"callID": text, "command": text, "output": text})
    output = struct({"output": text, "cursor": number, "size": number, "truncated": boolean})
    return _message(
        {"shellID": text, "command": text, "status": literal("running", "exited", "timeout", "killed")},
        {"exit": number, "output": output},
    )


def _message(required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    return struct({"time": _CREATED, **required}, {"metadata": record, **(optional or {})})


def _assistant(generation: int) -> Check:
    return _message(
        {"agent": text, "model": _MODEL},
        {
            "finish": text,
            "cost": number,
            "error": _ERROR[generation],
            "native": record,
            "providerState": record,
        },
    )


def _rows(generation: int) -> dict[str, Check]:
    rows = {
        "user": _user(generation),
        "synthetic": _message({"text": text}),
        "system": _message({"text": text}),
        "shell": _shell(generation),
        "agent-switched": _message({"agent": text}),
        "model-switched": _message({"model": _MODEL}, {"previous": _MODEL} if generation > 1 else None),
        "compaction": _compaction(generation),
        "assistant": _assistant(generation),
    }
    if generation > 1:
        rows["skill"] = _message({"skill": text, "name": text, "text": text})
    if generation == 3:
        rows["location-switched"] = _message({"location": struct({"directory": text})})
        rows["idle"] = _message({"outcome": literal("succeeded", "failed", "interrupted")})
    return rows


ROWS: Final[dict[int, dict[str, Check]]] = {generation: _rows(generation) for generation in GENERATIONS}
"""generation -> message type -> check of the row's ``data`` (assistant rows without their ``content``)."""

ITEMS: Final[dict[int, Check]] = {generation: _items(generation) for generation in GENERATIONS}
"""generation -> check of one content item of an assistant row."""
