"""A finding as a card: what is wrong, who refuses it with which words, why, and what can be done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.rules.lastcall import CODE
from sessions_app.models import Verdict
from sessions_app.ruletexts import rule_texts
from sessions_app.selectors.lastcall import LastCall
from sessions_app.selectors.outline import Ignored
from sessions_app.selectors.timeline import Fault
from sessions_app.web import present

type Claimed = Collection[tuple[str, Any]]
"""Rule and part of every finding of a session."""


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
    line: str
    place: str
    names: Mapping[str, str]
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
    ignored: Ignored | None = None

    @property
    def because_of_it(self) -> tuple[Reaction, ...]:
        """Protocols that refuse the session at this finding, its own target first."""
        return tuple(item for item in self.reactions if item.error)

    @property
    def accepting(self) -> tuple[Reaction, ...]:
        return tuple(item for item in self.reactions if item.look is ACCEPTS)

    @property
    def refusing_otherwise(self) -> tuple[Reaction, ...]:
        return tuple(item for item in self.reactions if item.look is REFUSES_OTHERWISE and not item.error)

    @property
    def places(self) -> tuple[str, ...]:
        return self.parts or self.messages

    @property
    def least_safety(self) -> str:
        """What has to be asked for so that a plan touches it: "" = nothing more than usual."""
        return "" if self.safety == "safe" else "lossy"

    @property
    def repairable(self) -> bool:
        return self.safety in ("safe", "lossy")


REFUSES = present.Look("blocked", "Refuses", "blocked")
REFUSES_OTHERWISE = present.Look("blocked", "Refuses, for another reason", "unknown")
WARNS = present.Look("risk", "May refuse", "risk")
FAILED_LAST = present.Look("risk", "Refused the last call, not for the history", "unknown")
REFUSED_LAST = present.Look("blocked", "Refused the last call", "blocked")
ACCEPTS = present.Look("healthy", "Accepts", "healthy")


@dataclass(frozen=True, slots=True)
class Answer:
    """A protocol's verdict as a row; ``words`` are its first errors, ``more`` counts the others."""

    protocol: str
    url: str
    own: bool
    looks: tuple[present.Look, ...]
    words: tuple[str, ...]
    more: int = 0


ANSWER_WORDS = 5


def answers(verdicts: Iterable[Verdict], payload_url: str, last_call: LastCall | None = None) -> list[Answer]:
    """Every protocol's verdict, each with the way to what it would be sent; of the own one, what it said to the last
    call, where that was no."""
    return [_answer(verdict, payload_url, last_call if verdict.own else None) for verdict in verdicts]


def _answer(verdict: Verdict, payload_url: str, last_call: LastCall | None) -> Answer:
    url = f"{payload_url}?protocol={verdict.protocol}"
    if verdict.accepted and last_call is not None:
        look = REFUSED_LAST if last_call.counts else FAILED_LAST
        return Answer(verdict.protocol, url, verdict.own, (look,), (last_call.words,))
    if verdict.accepted:
        return Answer(verdict.protocol, url, verdict.own, (ACCEPTS,), ())
    errors = [str(violation["error"]) for violation in verdict.violations[:ANSWER_WORDS]]
    words = (*([verdict.refusal] if verdict.refusal else []), *errors)
    more = max(0, len(verdict.violations) - ANSWER_WORDS)
    return Answer(verdict.protocol, url, verdict.own, (REFUSES,), words, more)


def finding_cards(
    faults: Iterable[Fault], verdicts: Sequence[Verdict], all_faults: Iterable[Fault]
) -> list[FindingCard]:
    """Cards of ``faults``; ``all_faults`` are the session's, which tell whose a refused part is."""
    every = list(all_faults)
    claimed = {(fault.rule, part) for fault in every for part in fault.parts}
    refused = any(fault.said for fault in every if fault.rule == CODE)
    return [_card(fault, verdicts, claimed, refused) for fault in faults]


def _card(fault: Fault, verdicts: Iterable[Verdict], claimed: Claimed, refused: bool) -> FindingCard:
    text = rule_texts().get(fault.rule)
    return FindingCard(
        key=fault.key,
        rule=fault.rule,
        line=fault.line,
        place=fault.place,
        names=fault.names,
        severity=present.SEVERITY.get(fault.severity, present.UNKNOWN),
        mark=present.mark(fault.rule, fault.severity),
        summary=fault.summary,
        what=text.what if text else "",
        rejected=text.rejected if text else "",
        why=text.why if text else "",
        repair=text.repair if text else "",
        safety=fault.safety,
        parts=fault.parts,
        messages=fault.messages,
        reactions=tuple(_reaction(fault, verdict, claimed, refused) for verdict in verdicts),
        at=fault.at,
        number=fault.number,
        ignored=fault.ignored,
    )


def _reaction(fault: Fault, verdict: Verdict, claimed: Claimed, refused: bool) -> Reaction:
    """``refused``: the own provider said no to the last call."""
    if verdict.own and fault.said:
        return Reaction(verdict.protocol, REFUSED_LAST, fault.said, certainty="stored in the session", own=True)
    for look, violations in ((REFUSES, verdict.violations), (WARNS, verdict.warnings)):
        for violation in violations:
            if _concerns(fault, violation, claimed):
                return Reaction(
                    verdict.protocol,
                    look,
                    str(violation.get("error", "")),
                    str(violation.get("position", "")),
                    present.CERTAINTY.get(violation.get("certainty", ""), ""),
                    verdict.own,
                )
    if verdict.refusal:
        return Reaction(verdict.protocol, REFUSES, verdict.refusal, own=verdict.own)
    takes = verdict.accepted and not (verdict.own and refused)
    return Reaction(verdict.protocol, ACCEPTS if takes else REFUSES_OTHERWISE, own=verdict.own)


def _concerns(fault: Fault, violation: dict[str, Any], claimed: Claimed) -> bool:
    """At one of its parts; or in its message, at no part or at one that no finding of this rule names: a provider may
    point at the block beside the one at fault."""
    part, message = violation.get("part"), violation.get("message")
    if fault.rule not in violation.get("faults", ()):
        return False
    return part in fault.parts or (message in fault.messages and (fault.rule, part) not in claimed)
