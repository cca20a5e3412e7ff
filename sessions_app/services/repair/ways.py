"""The ways to repair one finding, each with what it would change and how the session would stand then: computed,
nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sessions_app.domain.repair import RowChange
from sessions_app.domain.rules import Choice, Finding
from sessions_app.domain.wish import NOTHING, Wish

from .bench import Bench


@dataclass(frozen=True, slots=True)
class Way:
    """``protocol`` is the own target's ("" = the session names no model); ``accepted`` whether it then takes the next
    message; ``checked``: that can be told, since what the provider said to the last call is seen in the request too.
    ``left``: faults that would be left, ``blocking`` those of them that block. ``refusal``: why it is not done
    now; "" = it can be."""

    choice: Choice
    changes: tuple[RowChange, ...]
    protocol: str
    accepted: bool
    checked: bool
    left: int
    blocking: int
    refusal: str = ""


def asked_alone(key: str) -> Wish:
    """A look at one finding: nothing is done about it."""
    return Wish(findings=(key,), choices={key: NOTHING})


def found_alone(bench: Bench, key: str) -> Finding | None:
    """The finding as it is found now; None where it is not any more. ``bench``: of ``asked_alone``."""
    return next((finding for finding in bench.proposal.found if finding.key == key), None)


def preselected(finding: Finding) -> str:
    """The name of the choice that is recommended; "" where nothing is done unless a choice is named."""
    if finding.safety == "manual":
        return ""
    usable = [choice for choice in finding.choices if choice.operations]
    fitting = (choice for choice in usable if choice.safety == finding.safety)
    return next(fitting, usable[0]).name if usable else ""


def ways(bench: Bench, finding: Finding) -> Iterator[Way]:
    """Every choice that changes something, in the order of the rule."""
    for choice in finding.choices:
        if choice.operations:
            yield _way(bench.wishing(Wish(findings=(finding.key,), choices={finding.key: choice.name})), choice)


def _way(bench: Bench, choice: Choice) -> Way:
    preview, left = bench.preview, [one for one in bench.preview.findings_after if one.severity != "info"]
    before, after = preview.verdict_before, preview.verdict_after
    return Way(
        choice,
        bench.plan.changes,
        protocol=str(after.target.protocol) if after else "",
        accepted=bool(preview.accepted_after),
        checked=not (preview.refused_before and before and before.accepted),
        left=len(left),
        blocking=sum(one.severity == "blocked" for one in left),
        refusal=bench.refusal,
    )
