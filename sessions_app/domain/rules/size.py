"""Outputs and histories that are too big to send (rules 2.10)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Message, ToolPart
from sessions_app.domain.repair import Edit, JsonPath

from .base import Choice, Context, Finding, Rule, refused
from .ops import edit_part, is_v2, last_time

HUGE_OUTPUT = 256 * 1024
"""Characters of one output: five times what the client itself lets through (50 KiB)."""
MAX_ARGUMENTS = 1_048_576
"""Characters of one call's arguments that OpenAI takes (rules 2.10)."""
OVERFLOW = 4_000_000
"""Characters of a request that no known window holds (a million tokens)."""
KEEP = 8 * 1024
_OVERFLOW_WORDS = (
    "prompt is too long",
    "context_length_exceeded",
    "contextoverflow",
    "maximum context length",
    "string too long",
)


def find_huge(context: Context) -> Iterator[Finding]:
    for message, tool in context.tools:
        if message.id not in context.sent_messages and message.id not in {one.message for one in context.violations}:
            continue
        outputs = list(_outputs(message, tool))
        big = [(path, text) for path, text in outputs if len(text) > HUGE_OUTPUT]
        inputs = (
            [(path, text) for path, text in _inputs(tool) if len(text) > KEEP]
            if _arguments(tool) > MAX_ARGUMENTS
            else []
        )
        if not big and not inputs:
            continue
        yield _huge(context, message, tool, big, inputs)


def _outputs(message: Message, tool: ToolPart) -> Iterator[tuple[JsonPath, str]]:
    time = tool.state.get("time")
    if isinstance(time, dict) and time.get("compacted"):
        return
    output = tool.state.get("output")
    if isinstance(output, str):
        yield ("state", "output"), output
    content = tool.state.get("content")
    for index, entry in enumerate(content if isinstance(content, list) else []):
        if isinstance(entry, dict) and isinstance(entry.get("text"), str):
            yield ("state", "content", index, "text"), entry["text"]


def _inputs(tool: ToolPart) -> Iterator[tuple[JsonPath, str]]:
    if isinstance(tool.input, dict):
        for key, value in tool.input.items():
            if isinstance(value, str):
                yield ("state", "input", key), value


def _arguments(tool: ToolPart) -> int:
    return len(dumps(tool.input)) if tool.has_input and sum(len(text) for _, text in _inputs(tool)) > KEEP else 0


def truncated(text: str) -> str:
    """Head and tail of a text around a marker that says how long it was."""
    return f"{text[:KEEP]}\n[... cut by Suture: {len(text)} characters in all ...]\n{text[-KEEP:]}"


def _huge(
    context: Context,
    message: Message,
    tool: ToolPart,
    outputs: list[tuple[JsonPath, str]],
    inputs: list[tuple[JsonPath, str]],
) -> Finding:
    severity, details = context.severity("at-risk", "huge-output", "context-overflow", parts=(tool.id,))
    why = "too big to be sent again and again"
    cut = Choice(
        "truncate",
        "Keep head and tail with a marker that names the original size",
        "lossy",
        (edit_part(tool, [Edit(path, truncated(text)) for path, text in (*outputs, *inputs)], why),),
    )
    choices = [cut]
    if outputs and not inputs and not is_v2(message) and isinstance(tool.state.get("time"), dict):
        mark = edit_part(tool, (Edit(("state", "time", "compacted"), last_time(message)),), why)
        choices.insert(
            0,
            Choice(
                "compact",
                "Mark the output compacted: it stays stored, the client sends a fixed line",
                "lossy",
                (mark,),
            ),
        )
    size = max(len(text) for _, text in (*outputs, *inputs))
    return Finding(
        "huge-output",
        severity,
        "lossy",
        (message.id,),
        (tool.id,),
        f"{'The arguments' if inputs else 'The output'} of {tool.tool} ({tool.call_id}) has {size:,} characters",
        {
            "characters": size,
            "fields": [".".join(map(str, path)) for path, _ in (*outputs, *inputs)],
            **details,
        },
        tuple(choices),
    )


def find_overflow(context: Context) -> Iterator[Finding]:
    """The session recorded an overflow and has not got past it, or the request is bigger than any window."""
    last = next((message for message in reversed(context.messages) if message.is_assistant), None)
    violation = next((one for one in context.violations if one.faults[:1] == ("context-overflow",)), None)
    words = dumps(last.error) if last is not None and last.error else ""
    recorded = any(word in words.lower() for word in _OVERFLOW_WORDS)
    size = sum(tool_size(tool) for message, tool in context.tools if message.id in context.sent_messages)
    if not recorded and violation is None and size < OVERFLOW:
        return
    yield Finding(
        "context-overflow",
        "blocked" if violation else "at-risk",
        "lossy",
        (last.id,) if last is not None and recorded else (),
        (),
        (
            "The provider said that this history is too long"
            if recorded
            else f"The next request holds {size:,} characters of tool traffic"
        ),
        {
            **refused(violation),
            **({"error": words} if recorded else {}),
            "tool_characters": size,
            "not_checkable": "tokens are not counted offline",
        },
        _compact_old(context),
        mark="overflow",
    )


def tool_size(tool: ToolPart) -> int:
    output = tool.state.get("output")
    return len(output) if isinstance(output, str) else tool.size


def _compact_old(context: Context) -> tuple[Choice, ...]:
    """Outputs of all turns but the last two, V1 only: the client then sends a fixed line for each."""
    if context.v2:
        return ()
    recent = {message.id for turn in context.turns[-2:] for message in turn.messages}
    edits = [
        edit_part(tool, (Edit(("state", "time", "compacted"), last_time(message)),), "frees room in the request")
        for message, tool in context.tools
        if message.id not in recent
        and message.id in context.sent_messages
        and tool.status == "completed"
        and isinstance(tool.state.get("time"), dict)
        and not tool.state["time"].get("compacted")
        and tool_size(tool) > 2000
    ]
    return (
        (
            Choice(
                "compact",
                f"Mark {len(edits)} older outputs compacted; they stay stored",
                "lossy",
                tuple(edits),
            ),
        )
        if edits
        else ()
    )


RULES = (
    Rule(
        "huge-output",
        "One output or argument is huge",
        "blocked",
        "lossy",
        what="One tool output or argument holds hundreds of kilobytes or more.",
        rejected=(
            'OpenAI: "string too long. Expected a string with maximum length 1048576"; others: "prompt is too long".'
        ),
        why="A command printed a log, a shell row is not cut at 50 KiB, or the model wrote a long run of spaces.",
        repair=(
            "The output is marked compacted: it stays stored and the client sends a fixed line. Or head and tail are"
            " kept with a marker that names the original size. Arguments are cut inside the one text. Call id and"
            " status stay."
        ),
        order=142,
        find=find_huge,
    ),
    Rule(
        "context-overflow",
        "The history is too long",
        "blocked",
        "lossy",
        what="The session recorded an overflow, or its next request is larger than any known window.",
        rejected='Anthropic: "prompt is too long: 225981 tokens > 200000 maximum"; OpenAI: context_length_exceeded.',
        why=(
            "Large outputs pile up, or a compaction no longer cuts. Tokens are not counted offline, so this is at risk"
            " at most."
        ),
        repair="Older tool outputs are marked compacted; they stay stored. Or compact the session.",
        order=144,
        find=find_overflow,
    ),
)
