"""Stored text that a gateway's filter refuses (rules 2.32)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Message, TextPart

from .base import Context, Finding, Rule

WORDS = ("prompt injection patterns detected", "bracketed_role_spoofing", "request blocked: ")


def find(context: Context) -> Iterator[Finding]:
    """Only where the session recorded such a refusal: no offline check knows a filter."""
    user: Message | None = None
    for message in context.messages:
        if message.is_user:
            user = message
        words = dumps(message.error) if message.error else ""
        if not any(word in words.lower() for word in WORDS):
            continue
        parts = [part.id for part in user.parts if isinstance(part, TextPart)] if user else []
        yield Finding(
            "content-policy-text",
            "at-risk",
            "manual",
            (user.id, message.id) if user else (message.id,),
            tuple(parts),
            f"A filter refused the request that {message.id} was to answer",
            {
                "error": words,
                "hint": "Edit the text that the filter names; nothing is done by itself.",
                "not_checkable": "the filter's verdict",
            },
        )
        return


RULES = (
    Rule(
        "content-policy-text",
        "A text that a filter refuses",
        "blocked",
        "manual",
        what="A stored text matches a gateway's filter, so every later turn is refused.",
        rejected='Gateways: "HTTP 403: Request blocked: prompt injection patterns detected".',
        why="Pasted text looks like role markers to the filter.",
        repair="By hand: edit the one text. Suture shows where the refusal was recorded and changes nothing by itself.",
        order=980,
        find=find,
    ),
)
