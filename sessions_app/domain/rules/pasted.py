"""Thinking that was changed or went stale: no row tells it, only a provider's error that somebody pasted (rules
2.7)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import Message, ReasoningPart

from .base import Choice, Context, Finding, Located, Rule
from .ops import delete_part
from .thinking import NEVER, SWITCH_OFF, remove_turn


def find_altered(context: Context) -> Iterator[Finding]:
    yield from _pasted(context, "thinking-altered", "was changed after it was signed")


def find_stale(context: Context) -> Iterator[Finding]:
    yield from _pasted(context, "thinking-stale", "has a signature that is no longer accepted")


def _pasted(context: Context, rule: str, reason: str) -> Iterator[Finding]:
    for located in context.facts.located:
        message = context.messages_by_id.get(located.message)
        if (
            located.rule == rule
            and message is not None
            and any(isinstance(part, ReasoningPart) for part in message.parts)
        ):
            yield _pasted_finding(context, located, message, reason)


def _pasted_finding(context: Context, located: Located, message: Message, reason: str) -> Finding:
    turn = next((turn for turn in context.turns if message in turn.answers), None)
    answers = turn.answers if turn else [message]
    reasoning = [part for answer in answers for part in answer.parts if isinstance(part, ReasoningPart)]
    why = "the provider refuses this turn's thinking"
    drop = Choice(
        "drop-reasoning",
        "Drop all reasoning of that turn",
        "lossy",
        tuple(delete_part(part, why) for part in reasoning),
    )
    return Finding(
        located.rule,
        "blocked",
        "lossy",
        (message.id,),
        (located.part,) if located.part else tuple(part.id for part in reasoning),
        f"The thinking in {message.id} {reason}, says the provider's error",
        {"error": located.error, "also": SWITCH_OFF, "certainty": "reported"},
        (drop, remove_turn(context, message)),
    )


RULES = (
    Rule(
        "thinking-altered",
        "Thinking that was changed",
        "blocked",
        "lossy",
        what="Signed thinking no longer is what was signed: its text, its order or what stands around it changed.",
        rejected=(
            'Anthropic: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified".'
        ),
        why=(
            "A plugin or proxy emptied, cleaned or moved it. This cannot be seen in the rows, so it is raised only by"
            " an error you paste; signed thinking with empty text is right."
        ),
        repair=f"All reasoning of that turn is dropped, or the turn is removed. {NEVER}",
        order=230,
        find=find_altered,
    ),
    Rule(
        "thinking-stale",
        "Thinking whose signature is no longer accepted",
        "blocked",
        "lossy",
        what="The signature was valid once and is refused now.",
        rejected='Anthropic: "Invalid `signature` in `thinking` block".',
        why="A model update, another account, or a signature that ran out. Raised only by an error you paste.",
        repair=f"All reasoning of that turn is dropped, or the turn is removed. {NEVER}",
        order=240,
        find=find_stale,
    ),
)
