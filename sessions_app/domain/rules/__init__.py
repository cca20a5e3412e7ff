"""The rules: what can be wrong with a stored session, and how it is repaired (rules.md; design 2).

A rule is a module's entry in ``RULES``; adding one is its module, its line in ``_FAMILIES`` and its tests.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import chain

from . import (
    attempts,
    calls,
    compaction,
    content,
    counters,
    dangling,
    hidden,
    media,
    names,
    order,
    pasted,
    policy,
    provider_state,
    results,
    roles,
    rows,
    size,
    summaries,
    thinking,
    unicode,
)
from .base import Choice, Context, Facts, Finding, Located, Rule, Safety, Severity

_FAMILIES = (
    rows,
    attempts,
    calls,
    names,
    unicode,
    results,
    media,
    size,
    compaction,
    summaries,
    dangling,
    thinking,
    pasted,
    provider_state,
    content,
    roles,
    order,
    hidden,
    counters,
    policy,
)

REGISTRY: Mapping[str, Rule] = {
    rule.code: rule
    for rule in sorted(chain.from_iterable(family.RULES for family in _FAMILIES), key=lambda rule: rule.order)
}
"""Every rule by code, in the order in which repairs are planned: root causes and small changes first."""


def find_all(context: Context, rules: Container[str] = REGISTRY) -> list[Finding]:
    """The findings of a session, each key once, in the order of ``REGISTRY``; only those of ``rules``, where given."""
    found: dict[str, Finding] = {}
    for code, rule in REGISTRY.items():
        if code in rules:
            for finding in rule.find(context):
                found.setdefault(finding.key, finding)
    return list(found.values())


__all__ = [
    "REGISTRY",
    "Choice",
    "Context",
    "Facts",
    "Finding",
    "Located",
    "Rule",
    "Safety",
    "Severity",
    "find_all",
]
