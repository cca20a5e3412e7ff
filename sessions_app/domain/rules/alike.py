"""Equal facts as one finding with a count: what is harmless, or has no remedy, is said once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from sessions_app.domain.repair import Operation

from .finding import Choice, Finding


def together(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; those of one rule that are info, or that nothing repairs, are one where they offer the same.

    The one stands at the first one's place with its words and details, ``count`` and ``each`` (the details of all) in
    ``details``, all messages and parts, and its choices repair all of them.
    """
    groups: dict[Hashable, list[Finding]] = defaultdict(list)
    taken: dict[Hashable, set[tuple[str, str]]] = defaultdict(set)
    for number, finding in enumerate(findings):
        kind = _kind(finding)
        touched = set(_touched(operation for choice in finding.choices for operation in choice.operations))
        if kind is None or not taken[kind].isdisjoint(touched):
            kind = number  # two repairs of one place stay two
        taken[kind] |= touched
        groups[kind].append(finding)
    return [_one(group) for group in groups.values()]


def _kind(finding: Finding) -> Hashable:
    """Findings of one kind are said together; None stays alone."""
    if finding.severity != "info" and finding.choices:
        return None
    choices = tuple((choice.name, choice.safety) for choice in finding.choices)
    return finding.rule, finding.severity, finding.safety, finding.offered, choices


def _touched(operations: Iterable[Operation]) -> Iterable[tuple[str, str]]:
    return ((operation.message_id, operation.part_id) for operation in operations)


def _one(group: list[Finding]) -> Finding:
    first, more = group[0], len(group) - 1
    if not more:
        return first
    return replace(
        first,
        messages=tuple(dict.fromkeys(message for finding in group for message in finding.messages)),
        parts=tuple(dict.fromkeys(part for finding in group for part in finding.parts)),
        summary=f"{first.summary} (and {more:,} more like this)",
        details={**first.details, "count": len(group), "each": [dict(finding.details) for finding in group]},
        choices=tuple(_choice([finding.choices[place] for finding in group]) for place in range(len(first.choices))),
    )


def _choice(alike: list[Choice]) -> Choice:
    label = f"{alike[0].label} (so at all {len(alike):,} places)"
    return replace(alike[0], label=label, operations=tuple(one for choice in alike for one in choice.operations))
