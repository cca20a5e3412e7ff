"""Prompts that were admitted and never sent (docs/contract/v2-server.md#order.4)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.dialects.opencode_v2.inputs import waiting_prompts

from .context import Context
from .finding import Finding
from .registration import rule

_WHEN = {"steer": "before the next prompt", "queue": "one by one after the next prompt's turn"}


@rule("waiting-prompt", severity="info", safety="manual", needs="waiting")
def find_waiting(context: Context) -> Iterator[Finding]:
    """One finding for each way of delivery."""
    waiting = waiting_prompts(context.session.rows)
    for delivery in dict.fromkeys(str(one.data.get("delivery")) for one in waiting):
        mine = [one for one in waiting if str(one.data.get("delivery")) == delivery]
        prompts = "A prompt waits" if len(mine) == 1 else f"{len(mine)} prompts wait"
        yield context.finding(
            f"{prompts}: admitted, never sent; the server sends {'it' if len(mine) == 1 else 'them'}"
            f" {_WHEN.get(delivery, 'later')}",
            messages=mine,
            severity="info",
            details={"delivery": delivery, "prompts": len(mine)},
            mark=delivery,
        )
