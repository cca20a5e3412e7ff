"""How sessions stand, in one sentence, and what can be done about those that cannot go on, in another."""

from __future__ import annotations

from collections.abc import Mapping

from sessions_app.web.present import counted


def standing(health: Mapping[str, int]) -> str:
    """``health`` has how many sessions are of each."""
    total = sum(health.values())
    blocked = health.get("blocked", 0) + health.get("unreadable", 0)
    if not total:
        return "No sessions yet"
    if blocked:
        return f"{blocked:,} of {counted(total, 'session')} cannot go on"
    if health.get("not-scanned"):
        return f"{health['not-scanned']:,} of {counted(total, 'session')} not scanned yet"
    return f"All {counted(total, 'session')} can go on" if total > 1 else "The session can go on"


def ways_out(fates: Mapping[str, int]) -> str:
    """``fates`` has how many blocked sessions are of each."""
    said = (
        ("safe", "can be repaired without losing anything", "can be repaired without losing anything"),
        ("choice", "needs a choice of yours", "need a choice of yours"),
        ("none", "cannot be repaired by what is known", "cannot be repaired by what is known"),
    )
    numbers = ((fates.get(fate, 0), one, many) for fate, one, many in said)
    return " ".join(f"{number:,} {one if number == 1 else many}." for number, one, many in numbers if number)
