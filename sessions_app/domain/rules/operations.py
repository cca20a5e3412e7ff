"""Operations that rules plan with, in the terms of either dialect (docs/contract/rules.md#4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from sessions_app.domain.ids import mint_between
from sessions_app.domain.jsjson import dumps, loads
from sessions_app.domain.model import Message, Part, ToolPart
from sessions_app.domain.repair import REMOVE, Edit, JsonPath, Operation
from sessions_app.domain.wire.callids import plain

UNKNOWN_OUTCOME = "Tool call interrupted, outcome unknown (closed by Suture: no result was stored)"
"""The synthetic error of a call that never got a result; it claims neither success nor failure
(docs/contract/rules.md#4.4)."""

MAX_CALL_ID = 64


def is_v2(message: Message) -> bool:
    """It is a row of V2."""
    return message.generation > 0


def delete_part(part: Part, why: str) -> Operation:
    """The part goes."""
    return Operation("delete", "part", part.message_id, part.id, why=why)


def delete_parts(parts: Iterable[Part], why: str) -> tuple[Operation, ...]:
    """The parts go, all for one reason."""
    return tuple(delete_part(part, why) for part in parts)


def delete_message(message: Message, why: str) -> Operation:
    """The message goes with its parts."""
    return Operation("delete", "message", message.id, why=why)


def delete_row(message: Message, why: str) -> Operation:
    """A V2 row goes as a whole: its client cannot read it, and so nothing of the session."""
    return Operation("delete", "row", message.id, why=why)


def edit_part(part: Part, edits: Iterable[Edit], why: str) -> Operation:
    """Changes fields of a part; what the edits do not name stays byte for byte."""
    return Operation("replace", "part", part.message_id, part.id, tuple(edits), why=why)


def edit_message(message: Message, edits: Iterable[Edit], why: str) -> Operation:
    """As ``edit_part`` for the message's own row."""
    return Operation("replace", "message", message.id, edits=tuple(edits), why=why)


def edit_session(columns: Mapping[str, Any], why: str) -> Operation:
    """Sets columns of the session's row."""
    return Operation("replace", "session", columns=columns, why=why)


def replace_part(part: Part, data: Mapping[str, Any], why: str) -> Operation:
    """The part keeps its id and place and becomes something else as a whole."""
    return Operation("replace", "part", part.message_id, part.id, (Edit((), dict(data)),), why=why)


def insert_part(
    message: Message, data: Mapping[str, Any], after: Part | None, before: Part | None, why: str
) -> Operation:
    """A new V1 part between two neighbours, its id minted so that it sorts there. ValueError where no id fits."""
    part_id = mint_between(after.id if after else None, before.id if before else None)
    neighbour = before or after
    time = part_time(neighbour, message) if neighbour else message.time_created
    times = {"session_id": message.session_id, "time_created": time, "time_updated": time}
    return _new_part(message.id, part_id, data, times, why)


def insert_prompt(before: Message, text: Mapping[str, Any], why: str) -> tuple[Operation, ...]:
    """A new V1 user message with one text part in front of a message, for the same model. ValueError where no id
    fits."""
    message_id = mint_between(None, before.id)
    part_id = mint_between(None, before.parts[0].id) if before.parts else f"prt_{message_id.removeprefix('msg_')}"
    time = before.time_created - 1
    data = {
        "role": "user",
        "time": {"created": time},
        "agent": before.data.get("agent") if isinstance(before.data.get("agent"), str) else "build",
        "model": {"providerID": before.provider, "modelID": before.model},
    }
    times = {"session_id": before.session_id, "time_created": time, "time_updated": time}
    return (
        Operation("insert", "message", message_id, data=data, columns={"id": message_id, **times}, why=why),
        _new_part(message_id, part_id, text, times, why),
    )


def _new_part(message_id: str, part_id: str, data: Mapping[str, Any], times: Mapping[str, Any], why: str) -> Operation:
    columns = {"id": part_id, "message_id": message_id, **times}
    return Operation("insert", "part", message_id, part_id, data=data, columns=columns, why=why)


def part_time(part: Part, message: Message) -> int:
    """When the part's row was created (ms), else its message."""
    value = part.row.get("time_created") if part.row else None
    return value if isinstance(value, int) and not isinstance(value, bool) else message.time_created


def started(tool: ToolPart) -> int | None:
    """When the call began to run (ms), as its V1 state says."""
    time = tool.state.get("time")
    start = time.get("start") if isinstance(time, dict) else None
    return start if isinstance(start, int) else None


def call_id_path(message: Message) -> JsonPath:
    """Where a call of this message keeps its call id."""
    return ("id",) if is_v2(message) else ("callID",)


def name_path(message: Message) -> JsonPath:
    """Where a call of this message keeps the name of its tool."""
    return ("name",) if is_v2(message) else ("tool",)


def last_time(message: Message) -> int:
    """The latest time (ms) that the message's rows know: nothing is dated later than what is stored."""
    found = [message.time_created]
    for row in (message.row, *(part.row for part in message.parts)):
        if row:
            found += [row.get("time_created"), row.get("time_updated")]  # type: ignore[list-item]
    for data in (message.data, *(part.data for part in message.parts)):
        found += _times(data)
    return max(value for value in found if isinstance(value, int) and not isinstance(value, bool))


def _times(data: Mapping[str, Any]) -> list[int]:
    found = []
    state = data.get("state")
    for holder in (data, state if isinstance(state, dict) else {}):
        time = holder.get("time")
        if isinstance(time, dict):
            found += [value for value in time.values() if isinstance(value, int) and not isinstance(value, bool)]
    return found


def close_tool(message: Message, tool: ToolPart, why: str) -> Operation:
    """Ends a call without a result as an error of unknown outcome. Its input is kept, its output never made up."""
    return edit_part(tool, _close_v2(message, tool) if is_v2(message) else _close_v1(message, tool), why)


def _close_v1(message: Message, tool: ToolPart) -> list[Edit]:
    time = tool.state.get("time")
    start = held if (held := started(tool)) is not None else part_time(tool, message)
    edits = [Edit(("state", "status"), "error"), Edit(("state", "error"), UNKNOWN_OUTCOME)]
    if not isinstance(tool.input, dict):
        edits += keep_raw_input(message, tool, {})
    if isinstance(tool.state.get("metadata"), dict) or len(edits) > 2:
        edits.append(Edit(("state", "metadata", "interrupted"), True))
    else:
        edits.append(Edit(("state", "metadata"), {"interrupted": True}))
    end = max(last_time(message), start)
    if isinstance(time, dict):
        return [*edits, Edit(("state", "time", "start"), start), Edit(("state", "time", "end"), end)]
    return [*edits, Edit(("state", "time"), {"start": start, "end": end})]


def _close_v2(message: Message, tool: ToolPart) -> list[Edit]:
    """Required fields per generation as in docs/contract/formats.md#b2 (tool states)."""
    state = tool.state
    edits = [Edit(("state", "status"), "error")]
    if not isinstance(tool.input, dict):
        parsed = parsed_object(tool.input) if isinstance(tool.input, str) else None
        edits += [Edit(("state", "input"), parsed)] if parsed is not None else keep_raw_input(message, tool, {})
    holder = "metadata" if message.generation >= 3 else "structured"
    if isinstance(state.get(holder), dict) or any(edit.path[:2] == ("state", holder) for edit in edits):
        edits.append(Edit(("state", holder, "interrupted"), True))
    else:
        edits.append(Edit(("state", holder), {"interrupted": True}))
    if message.generation < 3 and not isinstance(state.get("content"), list):
        edits.append(Edit(("state", "content"), []))
    if message.generation >= 3 and state.get("content") == []:
        edits.append(Edit(("state", "content"), REMOVE))
    edits.append(Edit(("state", "error"), {"type": "unknown", "message": UNKNOWN_OUTCOME}))
    end = last_time(message)
    if isinstance(tool.data.get("time"), dict):
        return [*edits, Edit(("time", "completed"), max([end, *_times(tool.data)]))]
    return [*edits, Edit(("time",), {"created": message.time_created, "completed": end})]


def keep_raw_input(message: Message, tool: ToolPart, value: dict[str, Any]) -> list[Edit]:
    """The input becomes ``value``; what was stored there before is kept beside it, where nothing is lost by it."""
    edits = [Edit(("state", "input"), value)]
    if tool.input in (None, ""):
        return edits
    kept = tool.input if isinstance(tool.input, str) else dumps(tool.input)
    return [*edits, keep_beside(message, tool, "rawInput", kept)]


def keep_beside(message: Message, tool: ToolPart, key: str, value: Any) -> Edit:
    """Keeps what a call held before in its metadata (V2 generations 1 and 2: ``structured``), which is not sent."""
    holder = "structured" if 0 < message.generation < 3 else "metadata"
    if isinstance(tool.state.get(holder), dict):
        return Edit(("state", holder, key), value)
    return Edit(("state", holder), {key: value})


def parsed_object(text: str) -> dict[str, Any] | None:
    """The object that a text holds as JSON, None where it holds none (cut off, or something else)."""
    try:
        value = loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def tool_as_text(message: Message, tool: ToolPart) -> dict[str, Any]:
    """A text part that says in words what a call and its result held, both halves together; nothing is added to
    them. It begins and ends with a line break: clients join the texts of an answer with nothing in between
    (docs/contract/wire.md#6.8.c)."""
    text = (
        f"\n[Kept as text by Suture: a tool call and its result]\n"
        f"Tool: {tool.tool}\nInput: {dumps(tool.input) if tool.has_input else '(none)'}\n"
        f"{result_text(tool)}\n"
    )
    data: dict[str, Any] = {"type": "text", "text": text}
    if message.generation == 1:
        data["id"] = tool.call_id or tool.id
    return data


def result_text(tool: ToolPart) -> str:
    """The stored result of a call in words."""
    state = tool.state
    if tool.status == "completed":
        output = state.get("output")
        if isinstance(output, str):
            return f"Result: {output}"
        content = state.get("content")
        texts = [
            entry.get("text") if entry.get("type") == "text" else f"[{entry.get('mime') or entry.get('type')}]"
            for entry in (content if isinstance(content, list) else [])
            if isinstance(entry, dict)
        ]
        return "Result: " + "\n".join(str(text) for text in texts)
    if tool.status == "error":
        error = state.get("error")
        return f"Error: {error.get('message') if isinstance(error, dict) else error}"
    return "Result: interrupted, outcome unknown"


def safe_call_id(old: str, number: int, nine: bool = False) -> str:
    """An id made from ``old`` that every provider takes: letters, digits, ``_`` and ``-``, at most 64 (A5, O9); with
    ``nine`` the nine letters and digits that Mistral wants."""
    if nine:
        return hashlib.blake2b(f"{old}\0{number}".encode(errors="surrogatepass"), digest_size=8).hexdigest()[:9]
    suffix = f"_{number}"
    base = plain(old.strip()) or "call"
    return base[: MAX_CALL_ID - len(suffix)] + suffix


def take_out(message: Message, why: str) -> Operation:
    """The message is no longer sent: a V1 message goes with its parts; a V2 row stays and loses its content, since rows
    without their events have stopped upgrades (docs/contract/rules.md#0.3)."""
    if is_v2(message):
        return edit_message(message, (Edit(("content",), []),), why)
    return delete_message(message, why)
