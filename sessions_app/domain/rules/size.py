"""Outputs and histories that are too big to send (docs/contract/rules.md#2.10)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Message, ToolPart
from sessions_app.domain.repair import Edit, JsonPath, Operation

from .context import Context, recorded, refused
from .finding import Finding, lossy
from .operations import edit_part, is_v2, last_time
from .registration import rule

HUGE_OUTPUT = 256 * 1024
"""Characters of one output: five times what the client itself lets through (50 KiB)."""
MAX_ARGUMENTS = 1_048_576
"""Characters of one call's arguments that OpenAI takes (docs/contract/rules.md#2.10)."""
OVERFLOW = 4_000_000
"""Characters of a request that no known window holds (a million tokens)."""
KEEP = 8 * 1024
"""Characters of head, and of tail, that stay of a text that is cut."""
SMALL = 2_000
"""Characters of an output that is not worth compacting."""

type _Field = tuple[JsonPath, str]
"""Where a text stands in a part's data, and the text."""


@rule("huge-output", severity="blocked", safety="lossy", needs="large")
def find_huge(context: Context) -> Iterator[Finding]:
    """Calls of which one output, or the arguments, are too big to be sent again with every request."""
    for message, tool in context.tools:
        outputs = [(path, text) for path, text in _outputs(tool) if len(text) > HUGE_OUTPUT]
        inputs = [(path, text) for path, text in _inputs(tool) if len(text) > KEEP]
        if inputs and len(dumps(tool.input)) <= MAX_ARGUMENTS:
            inputs = []
        if (outputs or inputs) and _concerned(context, message):
            yield _huge(context, message, tool, outputs, inputs)


def _concerned(context: Context, message: Message) -> bool:
    """It is sent, or refused before it could be."""
    return message.id in context.sent_messages or any(one.message == message.id for one in context.violations)


@rule("huge-output-unsent", severity="info", safety="lossy", needs="large")
def find_unsent(context: Context) -> Iterator[Finding]:
    """Outputs that are too big and that no request holds any more: a client reads them at every opening all the same.
    Cut only where it is asked for."""
    why = "read at every opening, and no longer sent"
    held = [
        (message, tool, fields)
        for message, tool in context.tools
        if (_compacted(tool) or not _concerned(context, message))
        and (fields := [(path, text) for path, text in _texts(tool) if len(text) > HUGE_OUTPUT])
    ]
    if not held:
        return
    cuts = [edit_part(tool, [Edit(path, truncated(text)) for path, text in fields], why) for _, tool, fields in held]
    size = sum(len(text) for *_, fields in held for _, text in fields)
    hold = f"{len(held)} outputs that are" if len(held) > 1 else "An output that is"
    verb = "hold" if len(held) > 1 else "holds"
    yield context.finding(
        f"{hold} no longer sent {verb} {size:,} characters, which the client reads each time it opens the session",
        lossy("truncate", "Keep head and tail with a marker that names the original size", *cuts),
        messages=dict.fromkeys(message.id for message, *_ in held),
        parts=[tool for _, tool, _ in held],
        severity="info",
        details={"characters": size},
        mark="unsent",
    )


def _outputs(tool: ToolPart) -> Iterator[_Field]:
    """The texts of a result that is sent."""
    if not _compacted(tool):
        yield from _texts(tool)


def _texts(tool: ToolPart) -> Iterator[_Field]:
    output = tool.state.get("output")
    if isinstance(output, str):
        yield ("state", "output"), output
    content = tool.state.get("content")
    for index, entry in enumerate(content if isinstance(content, list) else []):
        if isinstance(entry, dict) and isinstance(entry.get("text"), str):
            yield ("state", "content", index, "text"), entry["text"]


def _inputs(tool: ToolPart) -> Iterator[_Field]:
    for key, value in tool.input.items() if isinstance(tool.input, dict) else ():
        if isinstance(value, str):
            yield ("state", "input", key), value


def _compacted(tool: ToolPart) -> bool:
    time = tool.state.get("time")
    return isinstance(time, dict) and bool(time.get("compacted"))


def _compact(message: Message, tool: ToolPart, why: str) -> Operation:
    """``message``: the one whose time it gets."""
    return edit_part(tool, (Edit(("state", "time", "compacted"), last_time(message)),), why)


def _freed(context: Context, refused: Message | None) -> bool:
    """Outputs were compacted since a request was found too long: what was refused is not what is sent next. A repair
    dates them by the refused answer, the client by its own clock."""
    if refused is None:
        return False
    return any(
        isinstance(at := tool.state["time"]["compacted"], int) and at >= refused.time_created
        for message, tool in context.tools
        if message.id in context.sent_messages and _compacted(tool)
    )


def truncated(text: str) -> str:
    """Head and tail of a text around a marker that says how long it was."""
    return f"{text[:KEEP]}\n[... cut by Suture: {len(text)} characters in all ...]\n{text[-KEEP:]}"


def _huge(context: Context, message: Message, tool: ToolPart, outputs: list[_Field], inputs: list[_Field]) -> Finding:
    why = "too big to be sent again and again"
    fields = [*outputs, *inputs]
    cut = edit_part(tool, [Edit(path, truncated(text)) for path, text in fields], why)
    choices = [lossy("truncate", "Keep head and tail with a marker that names the original size", cut)]
    if not inputs and not is_v2(message) and isinstance(tool.state.get("time"), dict):
        label = "Mark the output compacted: it stays stored, the client sends a fixed line"
        choices.insert(0, lossy("compact", label, _compact(message, tool, why)))
    size = max(len(text) for _, text in fields)
    return context.finding(
        f"{'The arguments' if inputs else 'The output'} of {tool.tool} ({tool.call_id}) has {size:,} characters",
        *choices,
        messages=[message],
        parts=[tool],
        refusal=context.refusal("huge-output", "context-overflow", parts=[tool]),
        details={"characters": size, "fields": [".".join(map(str, path)) for path, _ in fields]},
    )


@rule("context-overflow", severity="blocked", safety="lossy", needs="huge failed refused")
def find_overflow(context: Context) -> Iterator[Finding]:
    """The session recorded an overflow and has not got past it, or the request is bigger than any window."""
    calls = context.refused_last(context.rule)
    call = next((one for one in calls if not _freed(context, one.rows[0])), None)
    violation = next((one for one in context.violations if one.faults[:1] == (context.rule,)), None)
    size = sum(tool_size(tool) for message, tool in context.tools if message.id in context.sent_messages)
    if call is None and violation is None and size < OVERFLOW:
        return
    older = _older_outputs(context, call.rows[0] if call else None)
    label = f"Mark {len(older)} older outputs compacted; they stay stored"
    summary = f"The next request holds {size:,} characters of tool traffic"
    yield context.finding(
        "The provider said that this history is too long" if call else summary,
        *([lossy("compact", label, *older)] if older else []),
        messages=call.rows[:1] if call else [],
        refusal=violation,
        safety="lossy",
        details={
            **refused(violation),
            **(recorded(call) if call else {}),
            "tool_characters": size,
            "not_checkable": "tokens are not counted offline",
        },
        mark="overflow",
    )


def tool_size(tool: ToolPart) -> int:
    """Characters that a call puts into a request, roughly: its output, else its stored JSON."""
    output = tool.state.get("output")
    return len(output) if isinstance(output, str) else tool.size


def _older_outputs(context: Context, refused: Message | None) -> list[Operation]:
    """Outputs of all turns but the last two, V1 only: the client then sends a fixed line for each. They get the time of
    the answer that was refused, where one was."""
    if context.v2:
        return []
    recent = {message.id for turn in context.turns[-2:] for message in turn.messages}
    return [
        _compact(refused or message, tool, "frees room in the request")
        for message, tool in context.tools
        if message.id not in recent
        and message.id in context.sent_messages
        and tool.status == "completed"
        and isinstance(tool.state.get("time"), dict)
        and not _compacted(tool)
        and tool_size(tool) > SMALL
    ]
