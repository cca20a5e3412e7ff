"""Histories whose roles stand in an order that a provider refuses (rules 2.12, 2.27)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import Message, TextPart
from sessions_app.domain.repair import REMOVE, Edit, Operation

from .base import Choice, Context, Finding, Rule, refused
from .content import blank, sends_text
from .ops import delete_message, edit_part, insert_part, insert_prompt, is_v2

FIRST_TURN = "(the beginning of this conversation is not stored)"


def find_assistant_tail(context: Context) -> Iterator[Finding]:
    """The last user message lowers to nothing, so that an assistant turn would end the request."""
    if context.v2 or not context.messages:
        return
    last = context.messages[-1]
    if not last.is_user or not last.parts or any(sends_text(part) for part in last.parts):
        return
    if last.id in context.sent_messages:
        return
    before = [message for message in context.messages[:-1] if message.id in context.sent_messages]
    if not before or not before[-1].is_assistant:
        return
    ignored = [part for part in last.parts if isinstance(part, TextPart) and part.ignored and not blank(part.text)]
    why = "the history must end with a user message"
    choices = []
    if ignored:
        edits = tuple(edit_part(part, (Edit(("ignored",), REMOVE),), why) for part in ignored)
        choices.append(Choice("send", "Make the ignored text sendable", "lossy", edits))
    choices.append(
        Choice(
            "remove",
            "Remove it and let the next prompt end the history",
            "lossy",
            (delete_message(last, why),),
        )
    )
    yield Finding(
        "assistant-tail",
        "at-risk",
        "manual",
        (last.id, before[-1].id),
        tuple(part.id for part in ignored),
        f"The last user message {last.id} is not sent, so the answer {before[-1].id} ends the history",
        {},
        tuple(choices),
    )


def find_role_order(context: Context) -> Iterator[Finding]:
    """Orders of roles that the target refuses, one finding per place."""
    seen: set[tuple[str, str]] = set()
    for violation in context.violations:
        if violation.faults[:1] != ("role-order",) or (violation.rule, violation.message) in seen:
            continue
        seen.add((violation.rule, violation.message))
        choices = _order_choices(context, context.messages_by_id.get(violation.message))
        yield Finding(
            "role-order",
            "blocked",
            "lossy" if choices else "manual",
            (violation.message,) if violation.message else (),
            (),
            f"The order of roles at {violation.position or 'the start'} is refused",
            refused(violation),
            choices,
            mark=violation.rule + violation.position,
        )


def _order_choices(context: Context, message: Message | None) -> tuple[Choice, ...]:
    """For a history that begins with an answer: a short prompt before it, or a cut at the next prompt."""
    if message is None or not message.is_assistant or is_v2(message):
        return ()
    earlier = context.messages[: context.messages.index(message)]
    if any(other.id in context.sent_messages for other in earlier):
        return ()
    choices = []
    first = _first_prompt(message, earlier)
    if first:
        choices.append(Choice("placeholder", f"Put “{FIRST_TURN}” before it as the prompt", "lossy", first))
    answers: list[Operation] = []
    for other in context.messages:
        if other.is_user and any(sends_text(part) for part in other.parts):
            choices.append(
                Choice(
                    "move-cut",
                    f"Begin with {other.id}: the answers before it are removed",
                    "lossy",
                    tuple(answers),
                )
            )
            break
        if other.is_assistant:
            answers.append(delete_message(other, "the history must begin with a user message"))
    return tuple(choices)


def _first_prompt(message: Message, earlier: list[Message]) -> tuple[Operation, ...]:
    """A synthetic text in the prompt that is there but not sent, else a new prompt in front."""
    data = {"type": "text", "text": FIRST_TURN, "synthetic": True}
    why = "the history must begin with a user message"
    prompts = [other for other in earlier if other.is_user and other.parts]
    try:
        if prompts:
            return (insert_part(prompts[-1], data, prompts[-1].parts[-1], None, why),)
        return insert_prompt(message, data, why)
    except ValueError:
        return ()


RULES = (
    Rule(
        "assistant-tail",
        "The history ends with an answer",
        "blocked",
        "manual",
        what="The last user message is not sent (its text is ignored or empty), so an assistant turn ends the request.",
        rejected=(
            'Claude 4.6 and later: "This model does not support assistant message prefill. The conversation must end'
            ' with a user message."'
        ),
        why="An aborted answer followed by a prompt that lowers to nothing. Usually the next prompt cures it.",
        repair=(
            "Offered: make the ignored text sendable, or remove that message and let the next prompt end the history."
            " The answer is kept."
        ),
        order=930,
        find=find_assistant_tail,
    ),
    Rule(
        "role-order",
        "The order of roles is refused",
        "blocked",
        "lossy",
        what="Two messages of one role follow each other, or the history does not begin with a user message.",
        rejected=(
            'Bedrock: "A conversation must alternate between user and assistant roles"; Mistral and Gemma templates:'
            ' "Conversation roles must alternate"; Anthropic: "first message must use the "user" role"; Gemini:'
            ' "function call turn comes immediately after a user turn". Anthropic itself merges equal roles.'
        ),
        why="A message between was skipped or deleted, or a cut left an answer in front.",
        repair=(
            "Where the history begins with an answer, a short synthetic prompt is put before it, or it begins with the"
            " next prompt. No prompt is deleted; the rest is done by hand."
        ),
        order=320,
        find=find_role_order,
    ),
)
