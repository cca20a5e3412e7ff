"""Which turns the index beside a timeline names: all, or of very many a choice that leads everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from sessions_app.selectors.timeline import TurnHead

LISTED = 120
"""Turns that are named at most: each is a line of the index and one of the jump box."""
MOST_LISTED = 2_000
"""The same where somebody asks for all."""


def listed_turns(turns: Sequence[TurnHead], start: int, most: int = LISTED) -> Sequence[TurnHead]:
    """All turns where there are no more than ``most``; else half of that around the part with index ``start``, and of
    the others every so many."""
    if len(turns) <= most:
        return turns
    at = next((place for place, turn in enumerate(turns) if turn.first + turn.parts > start), len(turns) - 1)
    step = -(-len(turns) // (most // 2))
    near = range(at - most // 4, at + most // 4)
    return [turn for place, turn in enumerate(turns) if place in near or place % step == 0]
