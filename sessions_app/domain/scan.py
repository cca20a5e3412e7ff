"""A session's findings, verdicts and health, and the ``scan --json`` session object (docs/contract/design.md#8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sessions_app.domain.bodies import Requests
from sessions_app.domain.collector import undisturbed
from sessions_app.domain.judging import judged_requests, verdict_on, verdicts
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from sessions_app.domain.wire.target import Target, Thinking, infer_target, session_model_target
from sessions_app.domain.wire.verdict import Verdict, Violation

from .model import ReasoningPart, Session
from .rowcodec import as_json
from .rules import REGISTRY, Context, Facts, Finding, find_all, lastcall, refused

type Health = Literal["blocked", "at-risk", "healthy", "unreadable"]
type Fate = Literal["safe", "choice", "none", ""]
"""What can be done about the gravest findings: every one has a safe repair, some need a choice, some have no repair; ""
where there is nothing above info (docs/contract/design.md#fate)."""

MAX_OTHER_MODELS = 6
"""Models a session also used that are judged, the latest first."""
_RANK = {"blocked": 0, "at-risk": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class SessionScan:
    """``verdicts`` are as stored (repairs off), one per protocol; ``target`` None where the session names no model.
    ``reasons`` say in words why it is not healthy, the gravest first."""

    target: Target | None
    findings: tuple[Finding, ...]
    verdicts: Mapping[ProtocolName, Verdict]
    health: Health
    reasons: tuple[str, ...] = ()

    @property
    def last_call(self) -> Finding | None:
        """What the last call was answered with, where that was no answer; the gravest."""
        found = [finding for finding in self.findings if finding.rule == lastcall.CODE]
        return min(found, key=lambda finding: _RANK[finding.severity], default=None)

    @property
    def rejected_by(self) -> list[ProtocolName]:
        """The protocols that would refuse the next request, and the own one where it refused the last."""
        own = self.target.protocol if self.target and self.refused_last else None
        return [one for one, verdict in self.verdicts.items() if not verdict.accepted or one == own]

    @property
    def refused_last(self) -> bool:
        """The last word of the provider was no, and the history may be why."""
        return self.last_call is not None and self.last_call.severity != "info"

    @property
    def fate(self) -> Fate:
        """Of the findings that block, or where none does of those that put at risk."""
        for severity in ("blocked", "at-risk"):
            grave = [finding for finding in self.findings if finding.severity == severity]
            if any(not finding.choices for finding in grave):
                return "none"
            if grave:
                return "safe" if all(finding.safety == "safe" for finding in grave) else "choice"
        return ""

    @property
    def own(self) -> Verdict | None:
        """The verdict that health comes from."""
        return self.verdicts.get(self.target.protocol) if self.target else None

    @property
    def opens_with(self) -> str:
        """The task that the client runs before the request that is judged, "" where that comes first."""
        return next((verdict.opens_with for verdict in self.verdicts.values()), "")


@undisturbed
def scan(
    session: Session, target: Target | None = None, thinking: Thinking = "auto", facts: Facts | None = None
) -> SessionScan:
    """Everything the rules find, what all five protocols would answer, and the health.

    ``target`` takes the place of the session's own where it is given.
    """
    goal = target or infer_target(session, thinking)
    if not session.id or (session.faults and not any(message.data for message in session.messages)):
        words = session.faults[0].words or session.faults[0].reason if session.faults else "the session row has no id"
        found = tuple(find_all(Context(session, goal, facts, thinking)))
        return SessionScan(goal, found, {}, "unreadable", (words,))
    requests = judged_requests(session, goal)
    judged = verdicts(session, goal, thinking, requests) if goal else {}
    own = judged[goal.protocol] if goal else None
    context = Context(session, goal, facts, thinking, own, requests)
    findings = find_all(context)
    findings += unexplained(context, findings)
    others = _other_models(requests, goal, thinking) if goal else []
    places = _refused_places(judged, findings)
    called = goal.protocol if goal else None
    health, reasons = _health(findings, judged.get(goal.protocol) if goal else None, others)
    return SessionScan(
        goal, tuple(_reactions(finding, places, called) for finding in findings), judged, health, reasons
    )


def unexplained(context: Context, findings: Sequence[Finding]) -> list[Finding]:
    """Violations of its own target that no finding explains: named after the first rule they can come from, to be done
    by hand."""
    blocked = [one for one in findings if one.severity == "blocked" and one.rule != lastcall.CODE]
    explained = {finding.details.get("error") for finding in blocked}
    places = {place for finding in blocked for place in (*finding.parts, *finding.messages)}
    found: dict[str, Finding] = {}
    for violation in context.violations:
        if (
            violation.error in explained
            or violation.part in places
            or (not violation.part and violation.message in places)
        ):
            continue
        if any(finding.rule in violation.faults and violation.message in finding.messages for finding in blocked):
            continue
        code = next((code for code in violation.faults if code in REGISTRY), "history-shape-foreign")
        finding = Finding(
            code,
            "blocked",
            "manual",
            (violation.message,) if violation.message else (),
            (violation.part,) if violation.part else (),
            f"Refused at {violation.position or 'the request'}: {violation.error}",
            refused(violation),
            mark=f"{violation.rule} {violation.position}",
        )
        found.setdefault(finding.key, finding)
    refusal = context.verdict.refusal if context.verdict else ""
    if refusal and not blocked:
        found[""] = _refusal(context, refusal)
    return list(found.values())


def _refusal(context: Context, words: str) -> Finding:
    details = context.verdict.details if context.verdict else {}
    return Finding(
        "undecodable-row",
        "blocked",
        "manual",
        (details["message"],) if details.get("message") else (),
        (details["part"],) if details.get("part") else (),
        f"The client itself cannot continue this session: {words}",
        {"error": words, "certainty": "measured"},
        mark="refusal",
    )


def _other_models(requests: Requests, own: Target, thinking: Thinking) -> list[Verdict]:
    """Verdicts of the other models that really answered in this session, at its own protocol's other targets too."""
    session = requests.session
    used: dict[tuple[str, str], bool] = {}
    for message in reversed(session.messages):
        if message.is_assistant and message.provider and message.model:
            reasons = any(isinstance(part, ReasoningPart) for part in message.parts)
            name = (message.provider, message.model)
            used[name] = used.get(name, False) or reasons
    used.pop((own.provider, own.model), None)
    return [
        verdict_on(
            requests,
            session_model_target(
                session, provider, model, "on" if (reasons if thinking == "auto" else thinking == "on") else "off"
            ),
        )
        for (provider, model), reasons in list(used.items())[:MAX_OTHER_MODELS]
    ]


def _health(
    findings: Sequence[Finding], own: Verdict | None, others: Iterable[Verdict]
) -> tuple[Health, tuple[str, ...]]:
    """Blocked: its own target refuses it, or its client cannot open it (a finding is blocked for no other reason)."""
    by_rank = sorted(findings, key=lambda finding: _RANK[finding.severity])
    reasons = [finding.summary for finding in by_rank if finding.severity != "info"]
    if own is not None and not own.accepted:
        words = own.refusal or (own.violations[0].error if own.violations else "")
        return "blocked", (words, *(reason for reason in reasons if words not in reason))
    if any(finding.severity == "blocked" for finding in findings):
        return "blocked", tuple(reasons)
    refusing = [other for other in others if not other.accepted]
    for other in refusing:
        words = other.refusal or (other.violations[0].error if other.violations else "")
        reasons.append(f"{other.target.provider}/{other.target.model}, which it also used, refuses it: {words}")
    return ("at-risk" if reasons else "healthy"), tuple(reasons)


type _Places = Mapping[ProtocolName, frozenset[tuple[str, str]]]
"""Per protocol the places it refuses: (rule code, part), or (rule code, message) where no finding of that rule names
the part: a provider may point at the block beside the one at fault."""


def _refused_places(judged: Mapping[ProtocolName, Verdict], findings: Iterable[Finding]) -> _Places:
    claimed = {(finding.rule, part) for finding in findings for part in finding.parts}
    return {
        protocol: frozenset(
            (code, one.part if (code, one.part) in claimed else one.message)
            for one in verdict.violations
            for code in one.faults
        )
        for protocol, verdict in judged.items()
    }


def _reactions(finding: Finding, refused_at: _Places, own: ProtocolName | None) -> Finding:
    """With the protocols that refuse the session right there, and those that take it: poison for one, harmless for
    another. Where the session stores the refusal, its ``own`` protocol refuses."""
    if not finding.parts and not finding.messages:
        return finding
    if finding.details.get("class", "history") != "history":
        return finding
    said_no = {own} if finding.details.get("certainty") == "recorded" and finding.severity != "info" else set()
    places = [(finding.rule, place) for place in (*finding.parts, *finding.messages)]
    refusing = [one for one, refused in refused_at.items() if one in said_no or not refused.isdisjoint(places)]
    accepting = [protocol for protocol in refused_at if protocol not in refusing]
    return replace(finding, details={**finding.details, "refused_by": refusing, "accepted_by": accepting})


def as_document(session: Session, result: SessionScan) -> dict[str, Any]:
    """The ``scan --json`` session object; ``schemas/scan.schema.json`` describes it."""
    return {
        "id": session.id,
        "title": session.title,
        "health": result.health,
        "reasons": list(result.reasons),
        "target": _target(result.target),
        "last_call": _last_call(result.last_call),
        **({"opens_with": result.opens_with} if result.opens_with else {}),
        "findings": [_finding(finding) for finding in result.findings],
        "verdicts": {
            protocol: _verdict(result.verdicts[protocol]) for protocol in PROTOCOLS if protocol in result.verdicts
        },
    }


def _target(target: Target | None) -> dict[str, Any] | None:
    if target is None:
        return None
    document: dict[str, Any] = {
        "protocol": target.protocol,
        "provider": target.provider,
        "model": target.model,
        "thinking": target.thinking,
    }
    known = target.capabilities
    if known.by:
        document |= {"package": target.package, "input": known.input and list(known.input), "known_by": known.by}
    return document


def _last_call(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    told = as_json(finding.details)
    return {name: told[name] for name in ("class", "kind", "words", "model")} | {"finding": finding.key}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "safety": finding.safety,
        "messages": list(map(str, finding.messages)),
        "parts": list(map(str, finding.parts)),
        "summary": finding.summary,
        "details": as_json(finding.details),
        "key": finding.key,
        "offered": finding.open_choice,
        "choices": [
            {"name": choice.name, "label": choice.label, "safety": choice.safety} for choice in finding.choices
        ],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    document: dict[str, Any] = {
        "accepted": verdict.accepted,
        "violations": [_violation(violation) for violation in verdict.violations],
        "warnings": [_violation(violation) for violation in verdict.warnings],
        "not_checkable": list(verdict.not_checkable),
        "target": _target(verdict.target),
    }
    if verdict.refusal:
        document["refusal"] = verdict.refusal
    if verdict.details.get("writer"):
        document["writer"] = verdict.details["writer"]
    if verdict.opens_with:
        document["opens_with"] = verdict.opens_with
    return document


def _violation(violation: Violation) -> dict[str, str]:
    return {
        "rule": violation.rule,
        "error": violation.error,
        "position": violation.position,
        "message": violation.message,
        "part": violation.part,
        "certainty": violation.certainty,
        "tag": violation.tag,
    }
