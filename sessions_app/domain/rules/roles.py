"""Histories whose roles stand in an order that a provider refuses (docs/contract/rules.md#2.12, #2.27)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import Message, TextPart
from sessions_app.domain.repair import REMOVE, Edit, Operation

from .content import blank, sends_text
from .context import Context
from .finding import Choice, Finding, lossy
from .operations import delete_message, edit_part, insert_part, insert_prompt, is_v2, take_out
from .registration import rule

FIRST_TURN = "(the beginning of this conversation is not stored)"
_BEGINS = "the history must begin with a user message"
_ENDS = "the history must end with a user message"


@rule("assistant-tail", severity="blocked", safety="manual")
def find_assistant_tail(context: Context) -> Iterator[Finding]:
    """The last user message lowers to nothing, so that an assistant turn would end the request."""
    if context.v2 or not context.messages:
        return
    *earlier, last = context.messages
    if not last.is_user or not last.parts or any(sends_text(part) for part in last.parts):
        return
    before = [message for message in earlier if message.id in context.sent_messages]
    if last.id in context.sent_messages or not before or not before[-1].is_assistant:
        return
    ignored = [part for part in last.parts if isinstance(part, TextPart) and part.ignored and not blank(part.text)]
    choices = [lossy("remove", "Remove it and let the next prompt end the history", delete_message(last, _ENDS))]
    if ignored:
        edits = [edit_part(part, (Edit(("ignored",), REMOVE),), _ENDS) for part in ignored]
        choices.insert(0, lossy("send", "Make the ignored text sendable", *edits))
    yield context.finding(
        f"The last user message {last.id} is not sent, so the answer {before[-1].id} ends the history",
        *choices,
        messages=[last, before[-1]],
        parts=ignored,
        safety="manual",
    )


@rule("role-order", severity="blocked", safety="lossy", needs="refused")
def find_role_order(context: Context) -> Iterator[Finding]:
    """Orders of roles that the target refuses, one finding per place."""
    seen: set[tuple[str, str]] = set()
    for violation in context.violations:
        if violation.faults[:1] == ("role-order",) and (violation.rule, violation.message) not in seen:
            seen.add((violation.rule, violation.message))
            yield context.finding(
                f"The order of roles at {violation.position or 'the start'} is refused",
                *_order_choices(context, context.messages_by_id.get(violation.message)),
                messages=[violation.message],
                refusal=violation,
                mark=violation.rule + violation.position,
            )


def _order_choices(context: Context, message: Message | None) -> Iterator[Choice]:
    """For a history that begins with an answer: a short prompt before it, or a cut at the next prompt."""
    if message is None or not message.is_assistant:
        return
    earlier = context.messages[: context.messages.index(message)]
    if any(other.id in context.sent_messages for other in earlier):
        return
    first = () if is_v2(message) else _first_prompt(message, earlier)
    if first:
        yield lossy("placeholder", f"Put “{FIRST_TURN}” before it as the prompt", *first)
    answers: list[Operation] = []
    for other in context.messages:
        if _prompts(context, other):
            yield lossy("move-cut", f"Begin with {other.id}: the answers before it are removed", *answers)
            return
        if other.is_assistant:
            answers.append(take_out(other, _BEGINS))


def _prompts(context: Context, message: Message) -> bool:
    """It is sent as something of the user's."""
    if is_v2(message):
        return message.id in context.sent_messages and message.kind not in ("assistant", "system")
    return message.is_user and any(sends_text(part) for part in message.parts)


def _first_prompt(message: Message, earlier: list[Message]) -> tuple[Operation, ...]:
    """A synthetic text in the prompt that is there but not sent, else a new prompt in front."""
    data = {"type": "text", "text": FIRST_TURN, "synthetic": True}
    prompts = [other for other in earlier if other.is_user and other.parts]
    try:
        if prompts:
            return (insert_part(prompts[-1], data, prompts[-1].parts[-1], None, _BEGINS),)
        return insert_prompt(message, data, _BEGINS)
    except ValueError:
        return ()
