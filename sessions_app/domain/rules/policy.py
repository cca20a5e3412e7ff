"""Stored text that a gateway's filter refuses (docs/contract/rules.md#2.32)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import TextPart

from .context import Context, recorded
from .finding import Finding
from .registration import rule


@rule("content-policy-text", severity="blocked", safety="manual", needs="failed")
def find(context: Context) -> Iterator[Finding]:
    """Only where the session recorded such a refusal and got no answer since: no offline check knows a filter."""
    for call in context.refused_last()[:1]:
        refused = call.rows[-1]
        before = context.messages[: context.places[refused.id]]
        user = next((message for message in reversed(before) if message.is_user), None)
        yield context.finding(
            f"A filter refused the request that {refused.id} was to answer",
            messages=[user, refused] if user else [refused],
            parts=[part for part in user.parts if isinstance(part, TextPart)] if user else [],
            severity=call.severity,
            details={
                **recorded(call),
                "hint": "Edit the text that the filter names; nothing is done by itself.",
                "not_checkable": "the filter's verdict",
            },
        )
