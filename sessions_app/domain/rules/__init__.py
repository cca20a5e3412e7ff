"""The rules: what can be wrong with a stored session, and how it is repaired (docs/rules.md).

A rule is a function that ``rule`` registers in a module of its family.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sessions_app.domain.dialects import dialect_of
from sessions_app.domain.patience import go_on, paced

from . import (  # noqa: F401 (importing a family registers its rules)
    attempts,
    callfields,
    calls,
    compaction,
    content,
    counters,
    dangling,
    diffs,
    hidden,
    lastcall,
    media,
    nested,
    numbering,
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
    undecodable,
    unicode,
    waiting,
)
from .alike import together
from .context import Context, Facts, Located, refused
from .finding import Choice, Finding, Safety, Severity
from .lastreadable import sparing
from .order_of_repair import ORDER_OF_REPAIR
from .registration import REGISTERED, Rule
from .text import RuleText, parse_text

REGISTRY: Mapping[str, Rule] = {code: REGISTERED[code] for code in ORDER_OF_REPAIR}
"""Every rule by code, in the order in which repairs are planned."""


def find_all(context: Context, rules: Collection[str] = REGISTRY, *, apart: bool = False) -> list[Finding]:
    """The findings of a session, each key once, in the order of ``REGISTRY``; only those of ``rules``, where given, and
    of the rules that hold for its dialect. No safe choice takes the last message that can be read. Equal facts are one
    finding with a count, unless they are wanted ``apart``."""
    found: dict[str, Finding] = {}
    valid = dialect_of(context.session).rules
    looked = lastcall.wanted(context, rules)
    for code, rule in REGISTRY.items():
        if code in looked and (valid is None or code in valid) and context.may_hold(rule.needs):
            context.rule = code
            go_on()
            for finding in paced(rule.find(context)):
                found.setdefault(finding.key, finding)
    weighed = lastcall.with_evidence(context, list(found.values()))
    spared = sparing(context, [finding for finding in weighed if finding.rule in rules])
    return spared if apart else together(spared)


__all__ = [
    "REGISTRY",
    "Choice",
    "Context",
    "Facts",
    "Finding",
    "Located",
    "Rule",
    "RuleText",
    "Safety",
    "Severity",
    "find_all",
    "parse_text",
    "refused",
]
