"""What the V1 client's schema asks of a stored message or part, and where it cannot go on (docs/contract/formats.md#a6,
docs/contract/wire.md#f18, docs/contract/rules.md#2.19).

A field that the schema misses is a fault; most of them only break the client's transcript and export. A fault is
``fatal`` where the row, once it is replayed, leaves the client unable to build any request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from sessions_app.domain.model import RowFault

UNEXPECTED: Final = "Unexpected server error. Check server logs for details."
INVALID_PROMPT: Final = "Invalid prompt: The messages do not match the ModelMessage[] schema."

type _Field = tuple[tuple[str, ...], str, bool]
"""Path, what is expected there (a key of ``_TYPES``), required."""
type _Member = tuple[str, tuple[type, ...], int | None, bool]
"""Key, types, least value, required."""
type _Group = tuple[tuple[str, ...], tuple[_Member, ...]]
"""Path of an object, and the fields in it."""

_ABSENT: Final = object()


def message_fault(message_id: str, data: Mapping[str, Any]) -> RowFault | None:
    """The first thing that the client's schema refuses in a message, None where it takes it."""
    role = data.get("role")
    fields = _MESSAGES.get(role) if isinstance(role, str) else None
    if fields is None:
        path, reason = "role", _reason(("role",), "user or assistant", data.get("role", _ABSENT))
    else:
        path, reason = _first(fields, data)
    return RowFault("message", message_id, path, reason, "undecodable-row") if reason else None


def part_fault(part_id: str, kind: str, data: Mapping[str, Any]) -> RowFault | None:
    """As ``message_fault`` for a part. A kind that is unknown here is no fault: a newer client may have written it."""
    stop = _stops(kind, data)
    if stop is not None:
        path, reason, words = stop
        return RowFault("part", part_id, path, reason, "undecodable-row", fatal=True, words=words)
    if not kind:
        path, reason = "type", _reason(("type",), "string", data.get("type", _ABSENT))
    else:
        path, reason = _first(_PARTS.get(kind, ()), data)
        if not reason and kind == "tool":
            path, reason = _state(data["state"])
    return RowFault("part", part_id, path, reason, "undecodable-row") if reason else None


def shown(value: Any) -> str:
    """A value as an error names it, short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value[:40]}"'
    if isinstance(value, (int, float)):
        return str(value)
    return "an array" if isinstance(value, list) else "an object" if isinstance(value, dict) else type(value).__name__


def _state(state: Mapping[str, Any]) -> tuple[str, str]:
    status = state.get("status", _ABSENT)
    fields = _STATES.get(status) if isinstance(status, str) else None
    if fields is None:
        return "state.status", _reason(("state", "status"), "pending, running, completed or error", status)
    return _first(fields, state, ("state",))


def _stops(kind: str, data: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Path, reason and the client's words where it cannot build a request out of this part."""
    if kind in ("text", "reasoning"):
        wanted: tuple[tuple[str, ...], ...] = (("text",),)
    elif kind == "file":
        wanted = (("url",), ("mime",))
    elif kind == "tool":
        return _stops_tool(data)
    else:
        return None
    for path in wanted:
        value = data.get(path[0], _ABSENT)
        if not isinstance(value, str):
            return path[0], _reason(path, "string", value), INVALID_PROMPT
    if kind == "file" and not isinstance(data.get("filename", ""), str):
        return "filename", _reason(("filename",), "string", data["filename"]), INVALID_PROMPT
    return None


def _stops_tool(data: Mapping[str, Any]) -> tuple[str, str, str] | None:
    state = data.get("state", _ABSENT)
    if not isinstance(state, dict):
        return "state", _reason(("state",), "object", state), UNEXPECTED
    call_id = data.get("callID", _ABSENT)
    status = state.get("status")
    if not isinstance(call_id, str) and status in ("pending", "running", "completed", "error"):
        return "callID", _reason(("callID",), "string", call_id), INVALID_PROMPT
    if status == "completed":
        time = state.get("time")
        if time is None:
            return "state.time", _reason(("state", "time"), "object", state.get("time", _ABSENT)), UNEXPECTED
        output = state.get("output", _ABSENT)
        if (output is _ABSENT or output is None) and not _truthy(time, "compacted"):
            return "state.output", _reason(("state", "output"), "string", output), INVALID_PROMPT
    elif status == "error" and not replaced_output(state):
        error = state.get("error", _ABSENT)
        if not isinstance(error, str):
            return "state.error", _reason(("state", "error"), "string", error), INVALID_PROMPT
    return None


def replaced_output(state: Mapping[str, Any]) -> bool:
    """An interrupted error that kept its output is sent as an output (docs/contract/wire.md#6.1.5)."""
    metadata = state.get("metadata")
    return (
        isinstance(metadata, dict) and metadata.get("interrupted") is True and isinstance(metadata.get("output"), str)
    )


def _truthy(value: Any, key: str) -> bool:
    return isinstance(value, dict) and bool(value.get(key))


def _first(fields: tuple[_Field, ...], data: Mapping[str, Any], under: tuple[str, ...] = ()) -> tuple[str, str]:
    """Path and reason of the first field that is not as expected; ("", "") where all are."""
    if _fits(_grouped(fields), data):
        return "", ""
    for path, expected, required in fields:
        value: Any = data
        for depth, key in enumerate(path):
            value = value.get(key, _ABSENT) if isinstance(value, dict) else _ABSENT
            if value is _ABSENT:
                if required and depth == len(path) - 1:
                    return ".".join(under + path), _reason(under + path, expected, value)
                break
        else:
            if not _as_expected(expected, value):
                return ".".join(under + path), _reason(under + path, expected, value)
    return "", ""


def _fits(groups: tuple[_Group, ...], data: Mapping[str, Any]) -> bool:
    """Whether all fields are as expected. Nearly every row passes, so this looks at each object once and words
    nothing."""
    for parent, members in groups:
        holder: Any = data
        for key in parent:
            holder = holder.get(key, _ABSENT)
            if type(holder) is not dict:
                break
        if type(holder) is not dict:
            if holder is _ABSENT:
                continue
            return False
        for key, types, least, required in members:
            value = holder.get(key, _ABSENT)
            if value is _ABSENT:
                if required:
                    return False
            elif type(value) not in types or (least is not None and value < least):
                return False
    return True


@cache
def _grouped(fields: tuple[_Field, ...]) -> tuple[_Group, ...]:
    """Fields by the object that they are in."""
    groups: dict[tuple[str, ...], list[_Member]] = {}
    for path, expected, required in fields:
        types, least = _TYPES[expected]
        groups.setdefault(path[:-1], []).append((path[-1], types, least, required))
    return tuple((parent, tuple(members)) for parent, members in groups.items())


def _reason(path: tuple[str, ...], expected: str, value: Any) -> str:
    where = "".join(f'["{key}"]' for key in path)
    return f"Missing key at {where}" if value is _ABSENT else f"Expected {expected}, got {shown(value)} at {where}"


def _as_expected(expected: str, value: Any) -> bool:
    types, least = _TYPES[expected]
    return type(value) in types and (least is None or value >= least)


_TYPES: dict[str, tuple[tuple[type, ...], int | None]] = {
    "string": ((str,), None),
    "boolean": ((bool,), None),
    "number": ((int, float), None),
    "non-negative integer": ((int,), 0),
    "object": ((dict,), None),
    "array": ((list,), None),
}
"""Types a field may have, and the least value."""


def _required(*names: str, kind: str = "string") -> tuple[_Field, ...]:
    return tuple((tuple(name.split(".")), kind, True) for name in names)


def _optional(*names: str, kind: str = "string") -> tuple[_Field, ...]:
    return tuple((tuple(name.split(".")), kind, False) for name in names)


_TIMES: Final = "non-negative integer"
# Counters below zero are the rule usage-counters-wrong's business.
_TOKENS = (
    *_required("tokens", "tokens.cache", kind="object"),
    *_required(
        "tokens.input",
        "tokens.output",
        "tokens.reasoning",
        "tokens.cache.read",
        "tokens.cache.write",
        kind="number",
    ),
)
_MESSAGES: dict[str, tuple[_Field, ...]] = {
    "user": (
        *_required("time", kind="object"),
        *_required("time.created", kind=_TIMES),
        *_required("agent"),
        *_required("model", kind="object"),
        *_required("model.providerID", "model.modelID"),
        *_optional("summary", "tools", "format", kind="object"),
        *_optional("system", "variant"),
    ),
    "assistant": (
        *_required("time", kind="object"),
        *_required("time.created", kind=_TIMES),
        *_optional("time.completed", kind=_TIMES),
        *_required("parentID", "modelID", "providerID", "mode", "agent"),
        *_required("path", kind="object"),
        *_required("path.cwd", "path.root"),
        *_required("cost", kind="number"),
        *_TOKENS,
        *_optional("error", kind="object"),
        *_optional("summary", kind="boolean"),
        *_optional("finish"),
    ),
}
_PARTS: dict[str, tuple[_Field, ...]] = {
    "text": (
        *_optional("time", "metadata", kind="object"),
        *_required("time.start", kind=_TIMES),
        *_optional("synthetic", "ignored", kind="boolean"),
    ),
    "reasoning": (
        *_required("time", kind="object"),
        *_required("time.start", kind=_TIMES),
        *_optional("time.end", kind=_TIMES),
        *_optional("metadata", kind="object"),
    ),
    "tool": (*_required("callID", "tool"), *_optional("metadata", kind="object")),
    "step-start": _optional("snapshot"),
    "step-finish": (
        *_required("reason"),
        *_optional("snapshot"),
        *_required("cost", kind="number"),
        *_TOKENS,
    ),
    "snapshot": _required("snapshot"),
    "patch": (*_required("hash"), *_required("files", kind="array")),
    "agent": _required("name"),
    "subtask": _required("prompt", "description", "agent"),
    "retry": (*_required("attempt", kind="number"), *_required("error", "time", kind="object")),
    "compaction": (
        *_required("auto", kind="boolean"),
        *_optional("overflow", kind="boolean"),
        *_optional("tail_start_id"),
    ),
}
# ``input`` is not asked for: what a model sent as arguments is the rule tool-input-malformed's business.
_STATES: dict[str, tuple[_Field, ...]] = {
    "pending": _required("raw"),
    "running": (
        *_required("time", kind="object"),
        *_required("time.start", kind=_TIMES),
        *_optional("title"),
        *_optional("metadata", kind="object"),
    ),
    "completed": (
        *_required("output", "title"),
        *_required("metadata", "time", kind="object"),
        *_required("time.start", "time.end", kind=_TIMES),
        *_optional("attachments", kind="array"),
    ),
    "error": (
        *_required("error"),
        *_optional("metadata", kind="object"),
        *_required("time", kind="object"),
        *_required("time.start", "time.end", kind=_TIMES),
    ),
}
