"""Which sessions would raise an error: read from the verdicts of their last scans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app.domain.locate import Location
from sessions_app.models import Verdict

LIMIT = 20
READ = 2_000
"""Rejected verdicts that are looked at, newest sessions first."""


@dataclass(frozen=True, slots=True)
class Raiser:
    """A session whose payload breaks the rule behind the error, and where. ``exact``: an id of the text is in its own
    words."""

    session: int
    title: str
    protocol: str
    error: str
    place: str
    exact: bool


def sessions_raising(locations: Sequence[Location]) -> tuple[Raiser, ...]:
    """Sessions that would raise the error, those with the same ids in it first."""
    rules = {rule for location in locations for rule in location.rules}
    behind = {fault for location in locations if location.protocol == "anthropic-messages" for fault in location.faults}
    ids = {name for location in locations for name in location.ids}
    if not rules:
        return ()
    found: list[Raiser] = []
    rejected = (
        Verdict.objects.filter(accepted=False)
        .order_by("-own", "-session__time_updated", "-session_id")
        .values_list("session_id", "session__title", "session__stored_id", "protocol", "violations")[:READ]
    )
    seen: set[int] = set()
    for session, title, stored_id, protocol, violations in rejected.iterator():
        for violation in violations:
            claude = violation.get("rule") == "B12" and behind & set(violation.get("faults", ()))
            matches = violation.get("rule") in rules or claude
            if not matches or session in seen:
                continue
            error = str(violation.get("error", ""))
            place = str(violation.get("part") or violation.get("message") or "")
            exact = any(name in error for name in ids)
            if ids and not exact:
                continue
            seen.add(session)
            found.append(Raiser(session, title or stored_id, protocol, error, place, exact))
            break
        if len(found) >= LIMIT:
            break
    return tuple(found)
