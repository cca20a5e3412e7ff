"""Thinking that was changed or went stale: no row tells it, only a provider's error that somebody pasted
(docs/contract/rules.md#2.7)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import Message, ReasoningPart

from .context import Context, Located
from .finding import Finding, lossy
from .operations import delete_parts
from .registration import rule
from .thinking import SWITCH_OFF, remove_turn


@rule("thinking-altered", severity="blocked", safety="lossy")
def find_altered(context: Context) -> Iterator[Finding]:
    """Signed thinking that is no longer what was signed."""
    return _pasted(context, "was changed after it was signed")


@rule("thinking-stale", severity="blocked", safety="lossy")
def find_stale(context: Context) -> Iterator[Finding]:
    """A signature that was valid once."""
    return _pasted(context, "has a signature that is no longer accepted")


def _pasted(context: Context, reason: str) -> Iterator[Finding]:
    for located in context.facts.located:
        message = context.messages_by_id.get(located.message)
        if located.rule == context.rule and message is not None and _reasoning([message]):
            yield _pasted_finding(context, located, message, reason)


def _pasted_finding(context: Context, located: Located, message: Message, reason: str) -> Finding:
    turn = context.turn_of(message)
    reasoning = _reasoning(turn.answers if turn else [message])
    gone = delete_parts(reasoning, "the provider refuses this turn's thinking")
    return context.finding(
        f"The thinking in {message.id} {reason}, says the provider's error",
        lossy("drop-reasoning", "Drop all reasoning of that turn", *gone),
        remove_turn(context, message),
        messages=[message],
        parts=[located.part] if located.part else reasoning,
        severity="blocked",
        details={"error": located.error, "also": SWITCH_OFF, "certainty": "reported"},
    )


def _reasoning(answers: list[Message]) -> list[ReasoningPart]:
    return [part for answer in answers for part in answer.parts if isinstance(part, ReasoningPart)]
