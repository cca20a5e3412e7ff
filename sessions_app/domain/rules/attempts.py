"""Turns that never ended, what failed attempts left behind, lost step marks (rules 2.4, 2.17)."""

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

from .base import Choice, Context, Finding, Rule
from .ops import delete_part, edit_message, edit_session, insert_part, is_v2, last_time

ABORTED = "Interrupted, outcome unknown (closed by Suture: the turn never ended)"
_LEFTOVER_KINDS = frozenset({"step-start", "text", "reasoning", "tool", "retry"})


def find_open_turns(context: Context) -> Iterator[Finding]:
    """Assistant messages, compactions and shell commands without an end, and a session that is marked as compacting."""
    for message in context.messages:
        if message.is_assistant and message.completed_at is None and not message.fault:
            yield _open(message)
        elif is_v2(message) and message.kind in ("compaction", "shell") and message.data.get("status") == "running":
            yield _open_row(message)
    since = context.session.rows.session.get("time_compacting")
    if isinstance(since, int) and since:
        operation = edit_session({"time_compacting": None}, "no compaction is running")
        yield Finding(
            "open-turn",
            "at-risk",
            "safe",
            (),
            (),
            "The session is marked as being compacted",
            {"time_compacting": since},
            (Choice("clear", "Clear the mark", "safe", (operation,)),),
            mark="time_compacting",
        )


def _open(message: Message) -> Finding:
    useful = _useful(message)
    edits = [Edit(("time", "completed"), last_time(message))]
    if not useful and message.error is None:
        edits.append(Edit(("error",), _aborted(message)))
        if is_v2(message) and "finish" not in message.data:
            edits.append(Edit(("finish",), "error"))
    label = (
        "Set its end time" if useful or message.error else "Set its end time and an aborted error: it produced nothing"
    )
    operation = edit_message(message, edits, "nothing ended this turn")
    return Finding(
        "open-turn",
        "at-risk",
        "safe",
        (message.id,),
        (),
        f"The assistant message {message.id} was never completed",
        {"holds_something": useful, "parts": len(message.parts)},
        (Choice("complete", label, "safe", (operation,)),),
    )


def _open_row(message: Message) -> Finding:
    if message.kind == "shell":
        edits = [Edit(("status",), "killed"), Edit(("time", "completed"), last_time(message))]
    else:
        failed = {"type": "unknown", "message": ABORTED}
        edits = [
            Edit(("status",), "failed"),
            Edit(("error",), failed),
            Edit(("summary",), REMOVE),
            Edit(("recent",), REMOVE),
        ]
    operation = edit_message(message, edits, "nothing ended it")
    return Finding(
        "open-turn",
        "at-risk",
        "safe",
        (message.id,),
        (),
        f"The {message.kind} {message.id} is still running",
        {"kind": message.kind},
        (
            Choice(
                "complete",
                "Close it as " + ("killed" if message.kind == "shell" else "failed"),
                "safe",
                (operation,),
            ),
        ),
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


def find_leftovers(context: Context) -> Iterator[Finding]:
    """Two step-starts with no step-finish between: the first attempt failed and its parts are leftovers."""
    for message in context.messages:
        if is_v2(message) or not message.is_assistant:
            continue
        for attempt in attempts(message):
            if attempt.failed:
                yield _leftover(context, message, attempt)


def _leftover(context: Context, message: Message, attempt: Attempt) -> Finding:
    parts = [part for part in attempt.parts if part.kind in _LEFTOVER_KINDS]
    ran = [part for part in attempt.parts if isinstance(part, ToolPart) and part.executed]
    severity, details = context.severity("at-risk", parts=[part.id for part in parts])
    why = "a failed attempt left it; the retry answered"
    half = [
        part
        for part in parts
        if not (isinstance(part, ToolPart) and part.executed) and not isinstance(part, ReasoningPart)
    ]
    if ran:
        half = [part for part in half if not isinstance(part, StepStartPart)]
        choices = (
            (
                _discard(
                    "discard-text",
                    "Remove its half-written text and calls that never ran; what ran stays",
                    half,
                    why,
                ),
            )
            if half
            else ()
        )
        summary = (
            f"A failed attempt in {message.id} ran {', '.join(tool.tool for tool in ran)}; its parts stand beside the"
            " retry's"
        )
    else:
        choices = (_discard("discard", "Remove the failed attempt's parts; it ran nothing", parts, why, "safe"),)
        summary = f"A failed attempt in {message.id} left {len(parts)} parts before the retry's"
    return Finding(
        "failed-attempt-leftovers",
        severity,
        "manual" if ran else "safe",
        (message.id,),
        tuple(part.id for part in parts),
        summary,
        {"executed": [tool.id for tool in ran], "tools": [tool.tool for tool in ran], **details},
        choices,
    )


def _discard(name: str, label: str, parts: list[Part], why: str, safety: str = "lossy") -> Choice:
    return Choice(name, label, "safe" if safety == "safe" else "lossy", tuple(delete_part(part, why) for part in parts))


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
            elif finish is not None and _is_content(part):
                yield _boundary(context, message, finish, previous, part)
                finish = None
            elif called is not None and _of_next_response(message, part):
                yield _boundary(context, message, called, previous, part)
                called = None
            if isinstance(part, ToolPart) and not part.provider_executed:
                called = part
            previous = part


def _is_content(part: Part) -> bool:
    return isinstance(part, (TextPart, ReasoningPart, ToolPart))


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
    severity, details = context.severity(
        "at-risk" if proven else "info",
        "step-boundary-lost",
        messages=(message.id,),
        parts=(part.id, last.id),
    )
    behind = f"the step-finish {last.id}" if proven else f"the call {last.id}"
    choices: tuple[Choice, ...] = ()
    try:
        start = {"type": "step-start"}
        operation = insert_part(message, start, previous, part, "the next step began here")
        choices = (Choice("insert", "Insert the missing step-start", "safe", (operation,)),)
    except ValueError as error:
        details = {**details, "not_repairable": str(error)}
    return Finding(
        "step-boundary-lost",
        severity,
        "safe" if choices else "manual",
        (message.id,),
        (part.id,),
        f"{part.id} follows {behind} with no step-start between"
        + ("" if severity != "info" else "; harmless where the client moves calls behind texts"),
        details,
        choices,
    )


RULES = (
    Rule(
        "open-turn",
        "A turn never ended",
        "at-risk",
        "safe",
        what="An assistant message has no completion time, or a compaction or shell command is marked as running.",
        rejected="Nobody; the client's screen stays busy and may refuse to send or to delete.",
        why="The client was killed, ran out of memory or was restarted; nothing closes such turns at the next start.",
        repair=(
            "The message gets the latest time its own rows know as its end. If it produced nothing, it also gets a"
            " MessageAbortedError; otherwise its content is kept as it is. Refused while a client has the file open,"
            " unless forced."
        ),
        order=130,
        find=find_open_turns,
        live=True,
    ),
    Rule(
        "failed-attempt-leftovers",
        "Parts of a failed attempt stand beside the retry's",
        "at-risk",
        "safe",
        what=(
            "One message has two step-starts with no step-finish between: the first attempt broke off and the retry"
            " wrote after it."
        ),
        rejected=(
            "Often nobody: the half sentence is shown and sent again. Anthropic and others refuse what it brings about:"
            " duplicate ids, thinking out of order, empty messages (Moonshot)."
        ),
        why=(
            "A stream error that may be retried runs the stream again into the same message; what was stored before"
            " stays."
        ),
        repair=(
            "The attempt's step-start, text, reasoning and calls that never ran are removed. If the attempt executed a"
            " tool, nothing of it is discarded by default, since its effects are real."
        ),
        order=50,
        find=find_leftovers,
    ),
    Rule(
        "step-boundary-lost",
        "A step mark is missing",
        "blocked",
        "safe",
        what=(
            "Text, reasoning or a call follows a step-finish with no step-start between, so two responses are sent as"
            " one."
        ),
        rejected=(
            'Anthropic: "`tool_use` ids were found without `tool_result` blocks immediately after", where text or a'
            " second call then stands behind a call in one block; client 1.18 reorders such blocks itself."
        ),
        why="A retried stream wrote the next step without its mark.",
        repair=(
            "The missing step-start is inserted before the first part of the next step. Nothing is removed or merged."
        ),
        order=120,
        find=find_lost_boundaries,
    ),
)
