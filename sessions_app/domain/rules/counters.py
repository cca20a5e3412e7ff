"""Session totals that do not add up (docs/contract/rules.md#2.28)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Final

from sessions_app.domain.model import StepFinishPart

from .context import Context
from .finding import Finding, safe
from .operations import edit_session
from .registration import rule

_COLUMNS: Final = (
    "cost",
    "tokens_input",
    "tokens_output",
    "tokens_reasoning",
    "tokens_cache_read",
    "tokens_cache_write",
)
"""The session's columns of what its steps cost and used."""


@rule("usage-counters-wrong", severity="info", safety="safe")
def find(context: Context) -> Iterator[Finding]:
    """V1: cost and token columns against the sum over step-finish parts, negatives counted as 0."""
    if context.v2:
        return
    finishes = [part for message in context.messages for part in message.parts if isinstance(part, StepFinishPart)]
    counts = [part.counts for part in finishes]
    negative = [part.id for part, count in zip(finishes, counts, strict=True) if min(count) < 0]
    # One by one: what ``sum`` makes of floats is nearer to the truth than what the client adds up.
    totals = [reduce(add, [one for one in column if one > 0], 0) for column in zip(*counts, strict=True)]
    sums: dict[str, float] = dict(zip(_COLUMNS, totals or [0] * len(_COLUMNS), strict=True))
    stored = {name: context.row[name] for name in _COLUMNS if isinstance(context.row.get(name), (int, float))}
    wrong = [name for name, held in stored.items() if abs(held - sums[name]) > 1e-9 * max(1, abs(sums[name]))]
    if negative and not stored:
        yield context.finding(
            f"{len(negative)} steps have a negative count; a step's own values are not changed",
            parts=negative,
            severity="info",
            details={"negative": negative},
        )
    if wrong:
        columns = {name: _as_stored(stored[name], sums[name]) for name in wrong}
        yield context.finding(
            f"The session's {', '.join(wrong)} differ from the sum over its steps",
            safe(
                "recompute",
                "Recompute the session columns; the steps' own values stay",
                edit_session(columns, "sum over the steps"),
            ),
            parts=negative,
            severity="info",
            details={
                "columns": {name: {"stored": stored[name], "sum": sums[name]} for name in wrong},
                "negative": negative,
            },
        )


def _as_stored(stored: int | float, total: float) -> int | float:
    return int(total) if isinstance(stored, int) and float(total).is_integer() else float(total)
