"""Session totals that do not add up (rules 2.28)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sessions_app.domain.model import StepFinishPart

from .base import Choice, Context, Finding, Rule
from .ops import edit_session

_COLUMNS: dict[str, tuple[str, ...]] = {
    "cost": ("cost",),
    "tokens_input": ("tokens", "input"),
    "tokens_output": ("tokens", "output"),
    "tokens_reasoning": ("tokens", "reasoning"),
    "tokens_cache_read": ("tokens", "cache", "read"),
    "tokens_cache_write": ("tokens", "cache", "write"),
}


def _number(data: Mapping[str, Any], path: tuple[str, ...]) -> float:
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def find(context: Context) -> Iterator[Finding]:
    """V1: cost and token columns against the sum over step-finish parts, negatives counted as 0."""
    if context.v2:
        return
    session = context.session.rows.session
    finishes = [part for message in context.messages for part in message.parts if isinstance(part, StepFinishPart)]
    sums: dict[str, float] = dict.fromkeys(_COLUMNS, 0)
    negative = []
    for part in finishes:
        counts = [(name, _number(part.data, path)) for name, path in _COLUMNS.items()]
        for name, count in counts:
            if count > 0:
                sums[name] += count
        if any(count < 0 for _, count in counts):
            negative.append(part.id)
    wrong = {
        name: (session[name], total)
        for name, total in sums.items()
        if isinstance(session.get(name), (int, float)) and abs(session[name] - total) > 1e-9 * max(1, abs(total))
    }
    compared = any(isinstance(session.get(name), (int, float)) for name in _COLUMNS)
    if negative and not compared:
        yield Finding(
            "usage-counters-wrong",
            "info",
            "manual",
            (),
            tuple(negative),
            f"{len(negative)} steps have a negative count; a step's own values are not changed",
            {"negative": negative},
        )
    if not wrong:
        return
    columns = {name: _as_stored(session[name], total) for name, (_, total) in wrong.items()}
    yield Finding(
        "usage-counters-wrong",
        "info",
        "safe",
        (),
        tuple(negative),
        f"The session's {', '.join(wrong)} differ from the sum over its steps",
        {
            "columns": {name: {"stored": stored, "sum": total} for name, (stored, total) in wrong.items()},
            "negative": negative,
        },
        (
            Choice(
                "recompute",
                "Recompute the session columns; the steps' own values stay",
                "safe",
                (edit_session(columns, "sum over the steps"),),
            ),
        ),
    )


def _as_stored(stored: int | float, total: float) -> int | float:
    return int(total) if isinstance(stored, int) and float(total).is_integer() else float(total)


RULES = (
    Rule(
        "usage-counters-wrong",
        "Counters that do not add up",
        "info",
        "safe",
        what="The session's cost or token columns differ from the sum over its steps, or a step has a negative count.",
        rejected="Nobody; figures are wrong, and a huge value can start a compaction at once.",
        why="A provider reports cached tokens apart from input, or rows were edited or deleted without the columns.",
        repair=(
            "If you ask for it, the session columns are recomputed, negatives counted as 0. The steps' own values are"
            " never changed."
        ),
        order=600,
        find=find,
    ),
)
