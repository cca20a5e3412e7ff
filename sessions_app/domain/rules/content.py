"""Messages and texts with nothing in them (docs/contract/rules.md#2.6, #2.30)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.model import FilePart, Message, Part, ReasoningPart, TextPart, ToolPart
from sessions_app.domain.repair import Edit, Operation
from sessions_app.domain.wire.verdict import Violation

from .context import Context, refused
from .finding import Choice, Finding, safe
from .operations import delete_message, delete_part, delete_parts, edit_message, edit_part, is_v2, take_out
from .registration import rule

PLACEHOLDER = "(no text was entered)"
_TEXT_ROWS = frozenset({"synthetic", "system", "skill"})
_SKIPPED_MIMES = frozenset({"text/plain", "application/x-directory"})
_SAYS_NOTHING = frozenset({"text", "reasoning", "step-start", "step-finish", "patch", "snapshot", "retry"})
_SEPARATOR_HINT = (
    "Removing it would move signed thinking, which providers refuse as a change. Drop all reasoning of the turn and"
    " switch thinking off, or remove the turn."
)


def blank(value: Any) -> bool:
    """Nothing but white space, as a provider sees it."""
    return not isinstance(value, str) or not value.strip()


def sends_text(part: Part) -> bool:
    """A user's part that is sent as something other than blank text (docs/contract/wire.md#6.1.5)."""
    if isinstance(part, TextPart):
        return not part.ignored and not blank(part.text)
    if isinstance(part, FilePart):
        return part.mime not in _SKIPPED_MIMES
    return part.kind in ("compaction", "subtask")


def holds_answer(message: Message) -> bool:
    """An assistant message with text, a call, or a kind of part we do not know."""
    return any(
        (isinstance(part, TextPart) and not blank(part.text))
        or isinstance(part, ToolPart)
        or part.fault is not None
        or part.kind not in _SAYS_NOTHING
        for part in message.parts
    )


def answers_to(context: Context, user: Message) -> list[Message]:
    """The assistant messages that point to a prompt."""
    return [message for message in context.messages if message.is_assistant and message.parent_id == user.id]


@rule("empty-content", severity="blocked", safety="safe", needs="hollow")
def find_empty_content(context: Context) -> Iterator[Finding]:
    """User messages of blanks, assistant messages with nothing sendable, blank texts beside other content."""
    for message in context.messages:
        if message.fault is not None:
            continue
        if message.is_user:
            yield from _empty_user(context, message)
        elif message.is_assistant and message.parts:
            yield from _empty_assistant(context, message)
        elif message.kind in _TEXT_ROWS and blank(message.data.get("text")):
            yield from _empty_row(context, message)


def _write(message: Message, text: str) -> Operation:
    return edit_message(message, (Edit(("text",), text),), "blank text cannot be sent")


def _empty_row(context: Context, message: Message) -> Iterator[Finding]:
    """A V2 row that the client writes itself and sends as text."""
    refusal = context.refusal(messages=[message])
    if refusal is not None:
        yield context.finding(
            f"The {message.kind} row {message.id} holds nothing but blanks",
            safe("placeholder", f"Write “{PLACEHOLDER}” in it", _write(message, PLACEHOLDER)),
            messages=[message],
            refusal=refusal,
        )


def _empty_user(context: Context, message: Message) -> Iterator[Finding]:
    texts = [part for part in message.parts if isinstance(part, TextPart) and not part.ignored]
    if is_v2(message):
        hollow = blank(message.data.get("text")) and not message.data.get("files") and not message.data.get("skills")
    else:
        hollow = bool(texts) and not any(sends_text(part) for part in message.parts)
    if hollow:
        refusal = context.any_refusal(messages=[message], parts=texts) or _starts_wrong(context, message)
        yield context.finding(
            f"The user message {message.id} holds nothing but blanks",
            _user_choice(context, message, texts),
            messages=[message],
            parts=texts,
            severity="info",
            refusal=refusal,
            offered=refusal is None,
        )
        return
    yield from _blank_parts(context, message)
    if is_v2(message) and blank(message.data.get("text")):
        yield from _blank_beside_files(context, message)


def _blank_beside_files(context: Context, message: Message) -> Iterator[Finding]:
    """V2: the files stay; generation 1 sends the text even when it is empty, so there it gets a placeholder."""
    refusal = context.refusal(messages=[message])
    if refusal is not None:
        operation = _write(message, "" if message.generation > 1 else PLACEHOLDER)
        yield context.finding(
            f"The text beside the files of {message.id} is blank",
            safe("clear", "Send the files without the blanks", operation),
            messages=[message],
            refusal=refusal,
        )


def _starts_wrong(context: Context, message: Message) -> Violation | None:
    """An empty first prompt is not sent at all, so that the history begins with its answer
    (docs/contract/wire.md#6.8.d)."""
    if any(earlier.id in context.sent_messages for earlier in context.messages[: context.places[message.id]]):
        return None
    return context.refusal("role-order", messages=answers_to(context, message))


def _user_choice(context: Context, message: Message, texts: list[TextPart]) -> Choice:
    answers = answers_to(context, message)
    why = "a message of blanks cannot be sent"
    alone = len(texts) == len(message.parts)
    if not is_v2(message) and alone and not any(holds_answer(answer) for answer in answers):
        empty = f" together with its empty answer {', '.join(answer.id for answer in answers)}" if answers else ""
        return safe("remove", f"Remove it{empty}", *(delete_message(one, why) for one in (*answers, message)))
    label = f"Write “{PLACEHOLDER}” in it: {'its answer points to it' if alone else 'it holds more than the blanks'}"
    edits = (Edit(("text",), PLACEHOLDER),)
    if is_v2(message):
        return safe("placeholder", label, edit_message(message, edits, why))
    first, *others = texts
    return safe("placeholder", label, edit_part(first, edits, why), *delete_parts(others, why))


def _empty_assistant(context: Context, message: Message) -> Iterator[Finding]:
    if holds_answer(message):
        yield from _blank_parts(context, message)
        return
    if message.data.get("summary") is True and message.error is None:
        return
    refusal = context.refusal("empty-content", "thinking-only-message", messages=[message], parts=message.parts)
    reasons = any(isinstance(part, ReasoningPart) and not blank(part.text) for part in message.parts)
    if refusal is None and not _worth_offering(context, message, reasons):
        return
    what = "only reasoning" if reasons else "no text and no call"
    yield context.finding(
        f"The assistant message {message.id} holds {what}, so it is sent empty",
        safe("remove", "Remove the message: nothing of it can be sent", take_out(message, "it is sent empty")),
        messages=[message],
        parts=[part for part in message.parts if part.kind in ("text", "reasoning")],
        severity="info",
        refusal=refusal,
        offered=refusal is None,
    )


def _worth_offering(context: Context, message: Message, reasons: bool) -> bool:
    """An empty message that this target takes: a failed turn that is sent all the same, or an answer of blank text."""
    if message.error is not None:
        return message.id in context.sent_messages
    return not reasons and any(isinstance(part, TextPart) for part in message.parts)


def _blank_parts(context: Context, message: Message) -> Iterator[Finding]:
    for part in message.parts:
        if not isinstance(part, TextPart) or not blank(part.text) or part.fault is not None:
            continue
        refusal = context.refusal(parts=[part])
        if refusal is None:
            continue
        summary = f"The text {part.id} of {message.id} is blank"
        if _separates_signed(message, part):
            yield context.finding(
                f"{summary} and separates two signed thinking blocks",
                messages=[message],
                parts=[part],
                refusal=refusal,
                details={**refused(refusal), "hint": _SEPARATOR_HINT},
            )
        else:
            remove = delete_part(part, "blank text cannot be sent")
            yield context.finding(
                summary,
                safe("remove", "Remove the blank text; the other content stays", remove),
                messages=[message],
                parts=[part],
                refusal=refusal,
            )


def _separates_signed(message: Message, part: Part) -> bool:
    """Signed reasoning stands on both sides of the part (docs/contract/wire.md#1b, the empty separator trap)."""
    sides = message.parts[: part.index], message.parts[part.index + 1 :]
    return all(any(isinstance(other, ReasoningPart) and other.signed for other in side) for side in sides)


@rule("empty-message", severity="at-risk", safety="safe", needs="hollow")
def find_empty_messages(context: Context) -> Iterator[Finding]:
    """V1 message rows without any part."""
    parents = {message.parent_id for message in context.messages}
    for message in context.messages:
        if is_v2(message) or message.parts or message.fault is not None:
            continue
        if message.data.get("summary") is True and message.data.get("finish"):
            # It says that its compaction is over; without it the client would compact again.
            continue
        ended = message.is_assistant and (message.completed_at is not None or message.error is not None)
        needed = message.is_user and message.id in parents
        choices = []
        if ended or (message.is_user and not needed):
            choices = [safe("remove", "Remove the row: it holds nothing", delete_message(message, "it has no parts"))]
        yield context.finding(
            f"The {'user' if message.is_user else 'assistant'} message {message.id} has no parts"
            + (" (kept: an answer points to it)" if needed else ""),
            *choices,
            messages=[message],
            severity="at-risk" if choices else "info",
            details={"error": _error_words(message.error)} if message.error else {},
        )


def _error_words(error: dict[str, Any]) -> str:
    data = error.get("data")
    return f"{error.get('name', '')}: {data.get('message', '') if isinstance(data, dict) else error.get('message', '')}"
