"""Turns that never ended, what failed attempts left behind, lost step marks (docs/contract/rules.md#2.4, #2.17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.model import (
    Message,
    Part,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from sessions_app.domain.repair import REMOVE, Edit
from sessions_app.domain.turns import Attempt, attempts

from .context import Context
from .finding import Finding, lossy, safe
from .operations import delete_parts, edit_message, edit_session, insert_part, is_v2, last_time
from .registration import rule

ABORTED = "Interrupted, outcome unknown (closed by Suture: the turn never ended)"
_LEFTOVER_KINDS = frozenset({"step-start", "text", "reasoning", "tool", "retry"})


@rule("open-turn", severity="at-risk", safety="safe", live=True)
def find_open_turns(context: Context) -> Iterator[Finding]:
    """Assistant messages, compactions and shell commands without an end, and a session that is marked as compacting."""
    latest = next((one for one in reversed(context.messages) if is_v2(one) and one.is_assistant), None)
    for message in context.messages:
        if message.is_assistant and message.completed_at is None and not message.fault:
            yield _open(context, message, closes=message is latest and message.id in context.read_messages)
        elif is_v2(message) and message.kind in ("compaction", "shell") and message.data.get("status") == "running":
            yield _open_row(context, message)
    since = context.row.get("time_compacting")
    if isinstance(since, int) and since:
        yield context.finding(
            "The session is marked as being compacted",
            safe("clear", "Clear the mark", edit_session({"time_compacting": None}, "no compaction is running")),
            details={"time_compacting": since},
            mark="time_compacting",
        )


def _open(context: Context, message: Message, closes: bool) -> Finding:
    """``closes``: the V2 client sets the end time of its latest answer with the next one
    (docs/contract/v2-server.md#order.6)."""
    useful = _useful(message)
    edits = [Edit(("time", "completed"), last_time(message))]
    if not useful and message.error is None:
        edits.append(Edit(("error",), _aborted(message)))
        if is_v2(message) and "finish" not in message.data:
            edits.append(Edit(("finish",), "error"))
    label = "Set its end time" + ("" if useful or message.error else " and an aborted error: it produced nothing")
    return context.finding(
        f"The assistant message {message.id} was never completed" + ("; the next answer ends it" if closes else ""),
        safe("complete", label, edit_message(message, edits, "nothing ended this turn")),
        messages=[message],
        severity="info" if closes else "at-risk",
        details={"holds_something": useful, "parts": len(message.parts)},
    )


def _open_row(context: Context, message: Message) -> Finding:
    if message.kind == "shell":
        end = "killed"
        edits = [Edit(("status",), end), Edit(("time", "completed"), last_time(message))]
    else:
        end = "failed"
        edits = [
            Edit(("status",), end),
            Edit(("error",), _aborted(message)),
            Edit(("summary",), REMOVE),
            Edit(("recent",), REMOVE),
        ]
    return context.finding(
        f"The {message.kind} {message.id} is still running",
        safe("complete", f"Close it as {end}", edit_message(message, edits, "nothing ended it")),
        messages=[message],
        details={"kind": message.kind},
    )


def _aborted(message: Message) -> dict[str, Any]:
    if is_v2(message):
        return {"type": "unknown", "message": ABORTED}
    return {"name": "MessageAbortedError", "data": {"message": ABORTED}}


def _useful(message: Message) -> bool:
    """It produced text or reasoning, or a tool may have run."""
    for part in message.parts:
        if isinstance(part, (TextPart, ReasoningPart)) and isinstance(part.text, str) and part.text.strip():
            return True
        if isinstance(part, ToolPart) and part.executed:
            return True
        if part.kind in ("patch", "file"):
            return True
    return False


@rule("failed-attempt-leftovers", severity="at-risk", safety="safe", needs="restarted")
def find_leftovers(context: Context) -> Iterator[Finding]:
    """Two step-starts with no step-finish between: the first attempt failed and its parts are leftovers."""
    for message in context.messages:
        if message.is_assistant and not is_v2(message):
            for attempt in attempts(message):
                if attempt.failed:
                    yield _leftover(context, message, attempt)


def _leftover(context: Context, message: Message, attempt: Attempt) -> Finding:
    parts = [part for part in attempt.parts if part.kind in _LEFTOVER_KINDS]
    ran = [part for part in attempt.parts if isinstance(part, ToolPart) and part.executed]
    why = "a failed attempt left it; the retry answered"
    half: list[Part] = []
    if ran:
        half = [part for part in parts if not isinstance(part, (ReasoningPart, StepStartPart)) and not _executed(part)]
        label = "Remove its half-written text and calls that never ran; what ran stays"
        choices = [lossy("discard-text", label, *delete_parts(half, why))] if half else []
        tools = ", ".join(tool.tool for tool in ran)
        summary = f"A failed attempt in {message.id} ran {tools}; its parts stand beside the retry's"
    else:
        label = "Remove the failed attempt's parts; it ran nothing"
        choices = [safe("discard", label, *delete_parts(parts, why))]
        summary = f"A failed attempt in {message.id} left {len(parts)} parts before the retry's"
    sent = message.id in context.replayed
    # What ran is no leftover: it happened, and stays beside the retry's.
    harmless = not sent or (ran and not half)
    return context.finding(
        f"{summary}; nothing of it is sent" if not sent else summary,
        *choices,
        messages=[message],
        parts=parts,
        severity="info" if harmless else "at-risk",
        refusal=context.any_refusal(parts=parts),
        details={"executed": [tool.id for tool in ran], "tools": [tool.tool for tool in ran]},
        safety="manual" if ran else None,
    )


def _executed(part: Part) -> bool:
    return isinstance(part, ToolPart) and part.executed


@rule("step-boundary-lost", severity="blocked", safety="safe", needs="behind")
def find_lost_boundaries(context: Context) -> Iterator[Finding]:
    """Content after a step-finish with no step-start before it."""
    for message in context.messages:
        if is_v2(message) or not message.is_assistant:
            continue
        finish: Part | None = None
        previous: Part | None = None
        called: ToolPart | None = None
        for part in message.parts:
            if isinstance(part, StepFinishPart):
                finish, called = part, None
            elif isinstance(part, StepStartPart):
                finish = called = None
            elif finish is not None and isinstance(part, (TextPart, ReasoningPart, ToolPart)):
                yield _boundary(context, message, finish, previous, part)
                finish = None
            elif called is not None and _of_next_response(message, part):
                yield _boundary(context, message, called, previous, part)
                called = None
            if isinstance(part, ToolPart) and not part.provider_executed:
                called = part
            previous = part


def _of_next_response(message: Message, part: Part) -> bool:
    """Behind a call: thinking, or text with another call behind it. Text alone may well end the call's own response."""
    if isinstance(part, ReasoningPart):
        return True
    if not isinstance(part, TextPart):
        return False
    for later in message.parts[part.index + 1 :]:
        if isinstance(later, (StepStartPart, StepFinishPart)):
            return False
        if isinstance(later, ToolPart):
            return True
    return False


def _boundary(context: Context, message: Message, last: Part, previous: Part | None, part: Part) -> Finding:
    """``last`` is the step-finish before the part, which proves a new step; or a call, which may also be of the same
    response: then it is an offer, unless the target refuses it."""
    proven = isinstance(last, StepFinishPart)
    refusal = context.refusal(messages=[message], parts=[part, last])
    behind = f"the step-finish {last.id}" if proven else f"the call {last.id}"
    harmless = "" if proven or refusal else "; harmless where the client moves calls behind texts"
    choices, details = [], {}
    try:
        start = insert_part(message, {"type": "step-start"}, previous, part, "the next step began here")
        choices = [safe("insert", "Insert the missing step-start", start)]
    except ValueError as error:
        details = {"not_repairable": str(error)}
    return context.finding(
        f"{part.id} follows {behind} with no step-start between{harmless}",
        *choices,
        messages=[message],
        parts=[part],
        severity="at-risk" if proven else "info",
        refusal=refusal,
        details=details,
    )
