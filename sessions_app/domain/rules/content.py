"""Messages and texts with nothing in them (rules 2.6, 2.30)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.model import FilePart, Message, Part, ReasoningPart, TextPart, ToolPart
from sessions_app.domain.repair import Edit

from .base import Choice, Context, Finding, Rule, refused
from .ops import (
    delete_message,
    delete_part,
    edit_message,
    edit_part,
    is_v2,
    take_out,
)

PLACEHOLDER = "(no text was entered)"
_TEXT_ROWS = frozenset({"synthetic", "system", "skill"})
_SKIPPED_MIMES = frozenset({"text/plain", "application/x-directory"})


def blank(value: Any) -> bool:
    """Nothing but white space, as a provider sees it."""
    return not isinstance(value, str) or not value.strip()


def sends_text(part: Part) -> bool:
    """A user's part that is sent as something other than blank text (wire-rules 6.1 step 5)."""
    if isinstance(part, TextPart):
        return not part.ignored and not blank(part.text)
    if isinstance(part, FilePart):
        return part.mime not in _SKIPPED_MIMES
    return part.kind in ("compaction", "subtask")


def holds_answer(message: Message) -> bool:
    """An assistant message with text, a call, or a kind of part we do not know."""
    for part in message.parts:
        if isinstance(part, TextPart) and not blank(part.text):
            return True
        if isinstance(part, ToolPart) or part.fault is not None:
            return True
        if part.kind not in ("text", "reasoning", "step-start", "step-finish", "patch", "snapshot", "retry"):
            return True
    return False


def answers_to(context: Context, user: Message) -> list[Message]:
    return [message for message in context.messages if message.is_assistant and message.parent_id == user.id]


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


def _empty_row(context: Context, message: Message) -> Iterator[Finding]:
    """A V2 row that the client writes itself and sends as text."""
    violation = context.refusal("empty-content", messages=(message.id,))
    if violation is not None:
        operation = edit_message(message, (Edit(("text",), PLACEHOLDER),), "blank text cannot be sent")
        yield Finding(
            "empty-content",
            "blocked",
            "safe",
            (message.id,),
            (),
            f"The {message.kind} row {message.id} holds nothing but blanks",
            refused(violation),
            (Choice("placeholder", f"Write “{PLACEHOLDER}” in it", "safe", (operation,)),),
        )


def _empty_user(context: Context, message: Message) -> Iterator[Finding]:
    texts = [part for part in message.parts if isinstance(part, TextPart) and not part.ignored]
    if is_v2(message):
        hollow = blank(message.data.get("text")) and not message.data.get("files") and not message.data.get("skills")
    else:
        hollow = bool(texts) and not any(sends_text(part) for part in message.parts)
    if not hollow:
        yield from _blank_parts(context, message)
        if is_v2(message) and blank(message.data.get("text")):
            yield from _blank_beside_files(context, message)
        return
    violation = context.refusal(messages=(message.id,), parts=[part.id for part in texts]) or _starts_wrong(
        context, message
    )
    yield Finding(
        "empty-content",
        "blocked" if violation else "info",
        "safe",
        (message.id,),
        tuple(part.id for part in texts),
        f"The user message {message.id} holds nothing but blanks",
        refused(violation),
        (_user_choice(context, message, texts),),
        offered=violation is None,
    )


def _blank_beside_files(context: Context, message: Message) -> Iterator[Finding]:
    """V2: the files stay; generation 1 sends the text even when it is empty, so there it gets a placeholder."""
    violation = context.refusal("empty-content", messages=(message.id,))
    if violation is not None:
        text = "" if message.generation > 1 else PLACEHOLDER
        operation = edit_message(message, (Edit(("text",), text),), "blank text cannot be sent")
        yield Finding(
            "empty-content",
            "blocked",
            "safe",
            (message.id,),
            (),
            f"The text beside the files of {message.id} is blank",
            refused(violation),
            (Choice("clear", "Send the files without the blanks", "safe", (operation,)),),
        )


def _starts_wrong(context: Context, message: Message) -> Any:
    """An empty first prompt is not sent at all, so that the history begins with its answer (wire-rules 6.8 D)."""
    at = context.messages.index(message)
    if any(earlier.id in context.sent_messages for earlier in context.messages[:at]):
        return None
    return context.refusal("role-order", messages=[answer.id for answer in answers_to(context, message)])


def _user_choice(context: Context, message: Message, texts: list[TextPart]) -> Choice:
    answers = answers_to(context, message)
    why = "a message of blanks cannot be sent"
    alone = len(texts) == len(message.parts)
    if not is_v2(message) and alone and not any(holds_answer(answer) for answer in answers):
        taken = [delete_message(one, why) for one in (*answers, message)]
        label = "Remove it" + (
            f" together with its empty answer {', '.join(answer.id for answer in answers)}" if answers else ""
        )
        return Choice("remove", label, "safe", tuple(taken))
    label = f"Write “{PLACEHOLDER}” in it: {'its answer points to it' if alone else 'it holds more than the blanks'}"
    if is_v2(message):
        return Choice("placeholder", label, "safe", (edit_message(message, (Edit(("text",), PLACEHOLDER),), why),))
    first, *others = texts
    operations = (
        edit_part(first, (Edit(("text",), PLACEHOLDER),), why),
        *(delete_part(part, why) for part in others),
    )
    return Choice("placeholder", label, "safe", operations)


def _empty_assistant(context: Context, message: Message) -> Iterator[Finding]:
    if holds_answer(message):
        yield from _blank_parts(context, message)
        return
    if message.data.get("summary") is True and message.error is None:
        return
    violation = context.refusal(
        "empty-content",
        "thinking-only-message",
        messages=(message.id,),
        parts=[part.id for part in message.parts],
    )
    reasons = any(isinstance(part, ReasoningPart) and not blank(part.text) for part in message.parts)
    if violation is None and not _worth_offering(context, message, reasons):
        return
    what = "only reasoning" if reasons else "no text and no call"
    yield Finding(
        "empty-content",
        "blocked" if violation else "info",
        "safe",
        (message.id,),
        tuple(part.id for part in message.parts if part.kind in ("text", "reasoning")),
        f"The assistant message {message.id} holds {what}, so it is sent empty",
        refused(violation),
        (
            Choice(
                "remove",
                "Remove the message: nothing of it can be sent",
                "safe",
                (take_out(message, "it is sent empty"),),
            ),
        ),
        offered=violation is None,
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
        violation = context.refusal("empty-content", parts=(part.id,))
        if violation is None:
            continue
        separates = _separates_signed(message, part)
        remove = Choice(
            "remove",
            "Remove the blank text; the other content stays",
            "safe",
            (delete_part(part, "blank text cannot be sent"),),
        )
        yield Finding(
            "empty-content",
            "blocked",
            "manual" if separates else "safe",
            (message.id,),
            (part.id,),
            f"The text {part.id} of {message.id} is blank"
            + (" and separates two signed thinking blocks" if separates else ""),
            {**refused(violation), **({"hint": _SEPARATOR_HINT} if separates else {})},
            () if separates else (remove,),
        )


_SEPARATOR_HINT = (
    "Removing it would move signed thinking, which providers refuse as a change. Drop all reasoning of the turn and"
    " switch thinking off, or remove the turn."
)


def _separates_signed(message: Message, part: Part) -> bool:
    """Signed reasoning stands on both sides of the part (wire-rules 1b, the empty separator trap)."""
    before = any(isinstance(other, ReasoningPart) and other.signed for other in message.parts[: part.index])
    return before and any(
        isinstance(other, ReasoningPart) and other.signed for other in message.parts[part.index + 1 :]
    )


def find_empty_messages(context: Context) -> Iterator[Finding]:
    """V1 message rows without any part."""
    parents = {message.parent_id for message in context.messages}
    for message in context.messages:
        if is_v2(message) or message.parts or message.fault is not None:
            continue
        if message.data.get("summary") is True and message.data.get("finish"):
            # It says that its compaction is over; without it the client would compact again.
            continue
        choices: tuple[Choice, ...] = ()
        if (message.is_assistant and (message.completed_at is not None or message.error is not None)) or (
            message.is_user and message.id not in parents
        ):
            choices = (
                Choice(
                    "remove",
                    "Remove the row: it holds nothing",
                    "safe",
                    (delete_message(message, "it has no parts"),),
                ),
            )
        who = "user" if message.is_user else "assistant"
        kept = " (kept: an answer points to it)" if message.is_user and message.id in parents else ""
        yield Finding(
            "empty-message",
            "at-risk" if choices else "info",
            "safe" if choices else "manual",
            (message.id,),
            (),
            f"The {who} message {message.id} has no parts{kept}",
            {"error": _error_words(message)} if message.error else {},
            choices,
        )


def _error_words(message: Message) -> str:
    error = message.error or {}
    data = error.get("data")
    return f"{error.get('name', '')}: {data.get('message', '') if isinstance(data, dict) else error.get('message', '')}"


RULES = (
    Rule(
        "empty-content",
        "Nothing sendable in a message",
        "blocked",
        "safe",
        what="A message lowers to an empty or blank text, or to no content at all.",
        rejected=(
            'Anthropic: "text content blocks must be non-empty", "must contain non-whitespace text", "all messages must'
            ' have non-empty content"; Bedrock: "The content field in the Message object at messages.N is empty",'
            ' "There is nothing available to cache"; Moonshot: "the message at position N with role \'assistant\' must'
            ' not be empty"; DeepSeek: "content or tool_calls must be set".'
        ),
        why=(
            "An abort while thinking, a prompt of blanks, or a stream that ended with no text; each failed retry adds"
            " one more."
        ),
        repair=(
            "An answer with nothing sendable is removed, a blank text beside other content is removed, a prompt of"
            " blanks goes with its empty answer. Where an answer points to the prompt, a short neutral placeholder is"
            " written instead. A blank text between two signed thinking blocks is never touched. Where this target"
            " accepts the message the removal is only offered."
        ),
        order=300,
        find=find_empty_content,
    ),
    Rule(
        "empty-message",
        "A message without parts",
        "at-risk",
        "safe",
        what="A message row has no part rows.",
        rejected="Nobody: the client skips it; the user sees a blank turn.",
        why="An abort or error before the first token, or parts that another tool deleted.",
        repair=(
            "An ended answer without parts is removed, and so is a user message no answer points to. Nothing is lost"
            " but the stored error."
        ),
        order=310,
        find=find_empty_messages,
    ),
)
