"""A finding as a card: what is wrong, who refuses it with which words, why, and what can be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.places import in_words, near, turn_of
from sessions_app.domain.rules.lastcall import CODE
from sessions_app.models import Verdict
from sessions_app.ruletexts import rule_texts
from sessions_app.selectors.lastcall import LastCall
from sessions_app.selectors.outline import Ignored
from sessions_app.selectors.timeline import Fault
from sessions_app.web import present

_TICKET_IDS = 6
"""Ids that the text for a ticket names."""

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

    @property
    def refuses(self) -> str:
        """ "Anthropic refuses it"."""
        verb = {WARNS: "may refuse", REFUSED_LAST: "refused", REFUSES: "refuses"}.get(self.look, "refuses")
        return f"{present.PROVIDER.get(self.protocol, self.protocol)} {verb} it"


@dataclass(frozen=True, slots=True)
class FindingCard:
    """``alike``: findings of the same rule that are repaired safely, where this is one of them."""

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
    alike: int = 0
    ignored: Ignored | None = None

    @property
    def where(self) -> str:
        """ "turn 7": the line has said the rest."""
        return turn_of(self.place)

    @property
    def anchor(self) -> str:
        return f"fault-{self.number}"

    @property
    def ticket_place(self) -> str:
        return f"#{self.anchor}-ticket"

    @property
    def reason_id(self) -> str:
        return f"{self.anchor}-reason"

    @property
    def until_id(self) -> str:
        return f"{self.anchor}-until"

    @property
    def others_too(self) -> str:
        """ "+2 more" protocols that refuse it."""
        more = len(self.because_of_it) - 1
        return f"+{more} more" if more > 0 else ""

    @property
    def ticket(self) -> str:
        """What is wrong, for a support ticket (Markdown)."""
        said = "".join(word.text for word in in_words(self.summary, self.names))
        lines = [f"**{self.line}**" + (f", {self.place}" if self.place else ""), "", f"{said.rstrip('.')}."]
        for item in self.because_of_it:
            at = f" (at `{item.position}`)" if item.position else ""
            lines += ["", f"{item.refuses}{at}:", "", *(f"> {line}" for line in item.error.splitlines())]
        lines += ["", self.why, "", f"Repair: {self.repair}"] if self.why else ["", f"Repair: {self.repair}"]
        ids = ", ".join(f"`{one}`" for one in self.places[:_TICKET_IDS])
        return "\n".join([*lines, "", f"Rule `{self.rule}`" + (f", at {ids}" if ids else "") + "."])

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
    safe = Counter(fault.rule for fault in every if fault.safety == "safe" and not fault.ignored)
    return [_card(fault, verdicts, claimed, refused, safe) for fault in faults]


def _card(
    fault: Fault, verdicts: Iterable[Verdict], claimed: Claimed, refused: bool, safe: Mapping[str, int]
) -> FindingCard:
    text = rule_texts().get(fault.rule)
    return FindingCard(
        key=fault.key,
        rule=fault.rule,
        line=fault.line,
        place=fault.place,
        names=near(fault.names, fault.place),
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
        alike=safe.get(fault.rule, 0) if fault.safety == "safe" else 0,
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
