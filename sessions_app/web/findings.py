"""A finding as a card: what is wrong, who rejects it with which words, why, and what can be done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.rules import REGISTRY
from sessions_app.domain.rules.base import Rule
from sessions_app.models import Finding, Verdict
from sessions_app.selectors.timeline import Fault

from . import present

_CERTAINTY = {
    "measured": "seen on the wire",
    "documented": "documented by the vendor",
    "reported": "reported by users",
    "uncertain": "not certain",
}


@dataclass(frozen=True, slots=True)
class Reaction:
    """What one protocol does with this finding."""

    protocol: str
    look: present.Look
    error: str = ""
    position: str = ""
    certainty: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class FindingCard:
    key: str
    rule: str
    title: str
    severity: present.Look
    mark: present.Look
    summary: str
    what: str
    rejected: str
    why: str
    repair: str
    safety: str
    parts: tuple[str, ...]
    messages: tuple[str, ...]
    reactions: tuple[Reaction, ...]
    at: str
    number: int

    @property
    def because_of_it(self) -> tuple[Reaction, ...]:
        """Protocols that reject the session at this finding, its own target first."""
        return tuple(item for item in self.reactions if item.error)

    @property
    def accepting(self) -> tuple[Reaction, ...]:
        return tuple(item for item in self.reactions if item.look is ACCEPTS)

    @property
    def rejecting_otherwise(self) -> tuple[Reaction, ...]:
        return tuple(item for item in self.reactions if item.look is REJECTS_OTHERWISE and not item.error)

    @property
    def places(self) -> tuple[str, ...]:
        return self.parts or self.messages

    @property
    def repairable(self) -> bool:
        return self.safety in ("safe", "lossy")


REJECTS = present.Look("blocked", "Rejects", "blocked")
REJECTS_OTHERWISE = present.Look("blocked", "Rejects, for another reason", "unknown")
WARNS = present.Look("risk", "May reject", "risk")
ACCEPTS = present.Look("healthy", "Accepts", "healthy")


def finding_card(fault: Fault, verdicts: Iterable[Verdict]) -> FindingCard:
    rule: Rule | None = REGISTRY.get(fault.rule)
    return FindingCard(
        key=fault.key,
        rule=fault.rule,
        title=rule.title if rule else fault.rule,
        severity=present.SEVERITY.get(fault.severity, present.UNKNOWN),
        mark=present.mark(fault.rule, fault.severity),
        summary=fault.summary,
        what=rule.what if rule else "",
        rejected=rule.rejected if rule else "",
        why=rule.why if rule else "",
        repair=rule.repair if rule else "",
        safety=fault.safety,
        parts=fault.parts,
        messages=fault.messages,
        reactions=tuple(_reaction(fault, verdict) for verdict in verdicts),
        at=fault.at,
        number=fault.number,
    )


def fault_of(finding: Finding) -> Fault:
    """A stored finding without its place in the outline."""
    return Fault(
        0, finding.pk, finding.key, finding.rule, finding.severity, finding.safety, finding.summary,
        tuple(finding.parts), tuple(finding.messages), next(iter([*finding.parts, *finding.messages]), ""), 0, 0,
    )  # fmt: skip


def _reaction(fault: Fault, verdict: Verdict) -> Reaction:
    for look, violations in ((REJECTS, verdict.violations), (WARNS, verdict.warnings)):
        for violation in violations:
            if _concerns(fault, violation):
                return Reaction(
                    verdict.protocol,
                    look,
                    str(violation.get("error", "")),
                    str(violation.get("position", "")),
                    _CERTAINTY.get(violation.get("certainty", ""), ""),
                    verdict.own,
                )
    if verdict.refusal:
        return Reaction(verdict.protocol, REJECTS, verdict.refusal, own=verdict.own)
    return Reaction(verdict.protocol, ACCEPTS if verdict.accepted else REJECTS_OTHERWISE, own=verdict.own)


def _concerns(fault: Fault, violation: dict[str, Any]) -> bool:
    part, message = violation.get("part"), violation.get("message")
    if fault.rule not in violation.get("faults", ()):
        return False
    return part in fault.parts or (message in fault.messages and (not part or not fault.parts))
