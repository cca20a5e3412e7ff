"""Counts of sessions by health that lead to their list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sessions_app.selectors.filters import SessionFilter
from sessions_app.web import present


@dataclass(frozen=True, slots=True)
class Pill:
    key: str
    look: present.Look
    count: int
    url: str
    current: bool


def health_pills(
    counts: Mapping[str, int], page: str = "", wanted: SessionFilter | None = None, tail: str = ""
) -> list[Pill]:
    """A pill for every health that some session has, or that is chosen; the chosen one leads to the list without it."""
    wanted = wanted or SessionFilter()
    pills = []
    for health, look in present.HEALTH.items():
        current = wanted["health"] == (health,)
        if current or counts.get(health):
            query = wanted.to_query(health=None if current else (health,))
            pills.append(Pill(health, look, counts.get(health, 0), f"{page}?{query}{tail}", current))
    return pills
