"""Thinking that was changed or went stale: no row tells it, only a provider's error that somebody pasted, or that the
session itself stores (docs/contract/rules.md#2.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sessions_app.domain.lastcalls import LastCall
from sessions_app.domain.model import Message, ReasoningPart

from .context import Context, recorded
from .finding import Finding, Severity, lossy
from .operations import delete_parts
from .registration import rule
from .thinking import SWITCH_OFF, remove_turn


@rule("thinking-altered", severity="blocked", safety="lossy", needs="reasoning")
def find_altered(context: Context) -> Iterator[Finding]:
    """Signed thinking that is no longer what was signed."""
    return _told(context, "was changed after it was signed")


@rule("thinking-stale", severity="blocked", safety="lossy", needs="reasoning")
def find_stale(context: Context) -> Iterator[Finding]:
    """A signature that was valid once."""
    return _told(context, "has a signature that is no longer accepted")


def _told(context: Context, reason: str) -> Iterator[Finding]:
    for located in context.facts.located:
        message = context.messages_by_id.get(located.message)
        if located.rule == context.rule and message is not None and _reasoning([message]):
            details = {"error": located.error, "certainty": "reported"}
            yield _finding(context, message, located.part, "blocked", f"{reason}, says the provider's error", details)
    for call in context.refused_last():
        for message, part in _refused(context, call):
            if context.refusal(messages=[message], parts=message.parts) is None:
                words = f"{reason}, said the provider at the last call"
                yield _finding(context, message, part, call.severity, words, recorded(call))


def _refused(context: Context, call: LastCall) -> Iterator[tuple[Message, str]]:
    """The answers with signed thinking that a stored refusal means: where it points, else the last that is sent."""
    placed = [(context.messages_by_id.get(place.message), place.part) for place in call.places]
    if not placed:
        sent = (one for one in reversed(context.messages) if one.id in context.sent_messages and _signed(one))
        placed = [(next(sent, None), "")]
    for message, part in dict.fromkeys((message.id, part) for message, part in placed if message is not None):
        at = context.messages_by_id[message]
        thought = context.parts_by_id.get(part)
        if _signed(at) and (not isinstance(thought, ReasoningPart) or thought.signed):
            yield at, part if isinstance(thought, ReasoningPart) else ""


def _signed(message: Message) -> bool:
    return any(part.signed for part in _reasoning([message]))


def _finding(
    context: Context, message: Message, part: str, severity: Severity, reason: str, details: Mapping[str, Any]
) -> Finding:
    turn = context.turn_of(message)
    reasoning = _reasoning(turn.answers if turn else [message])
    gone = delete_parts(reasoning, "the provider refuses this turn's thinking")
    return context.finding(
        f"The thinking in {message.id} {reason}",
        lossy("drop-reasoning", "Drop all reasoning of that turn", *gone),
        remove_turn(context, message),
        messages=[message],
        parts=[part] if part else reasoning,
        severity=severity,
        details=details,
        also=SWITCH_OFF,
    )


def _reasoning(answers: list[Message]) -> list[ReasoningPart]:
    return [part for answer in answers for part in answer.parts if isinstance(part, ReasoningPart)]
