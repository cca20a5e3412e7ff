"""Stored text that a gateway's filter refuses (docs/contract/rules.md#2.32)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import Message, TextPart

from .context import Context, stored_error
from .finding import Finding
from .registration import rule

WORDS = ("prompt injection patterns detected", "bracketed_role_spoofing", "request blocked: ")


@rule("content-policy-text", severity="blocked", safety="manual")
def find(context: Context) -> Iterator[Finding]:
    """Only where the session recorded such a refusal: no offline check knows a filter."""
    user: Message | None = None
    for message in context.messages:
        if message.is_user:
            user = message
        words = stored_error(message)
        if any(word in words.lower() for word in WORDS):
            yield context.finding(
                f"A filter refused the request that {message.id} was to answer",
                messages=[user, message] if user else [message],
                parts=[part for part in user.parts if isinstance(part, TextPart)] if user else [],
                details={
                    "error": words,
                    "hint": "Edit the text that the filter names; nothing is done by itself.",
                    "not_checkable": "the filter's verdict",
                },
            )
            return
