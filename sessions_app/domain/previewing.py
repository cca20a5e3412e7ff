"""What a plan would change: verdicts, findings and requests before and after it, all computed, nothing written
(docs/contract/design.md#5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.judging import verdict_on
from sessions_app.domain.wire.lowered import Body, LoweringError
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from sessions_app.domain.wire.target import Target, default_target, infer_target
from sessions_app.domain.wire.verdict import Verdict

from .bodies import body
from .dialects import applied
from .model import Session
from .repair import Plan
from .rules import Context, Facts, Finding, find_all


@dataclass(frozen=True, slots=True)
class Look:
    """A session as the rules looked at it. ``found``: all that they find; None where they did not look for all."""

    context: Context
    found: tuple[Finding, ...] | None = None

    def at(self, target: Target | None) -> Context:
        """The same session as that target would take it, with what was computed for it where it is the same one."""
        seen = self.context
        if seen.target == target:
            return seen
        return Context(seen.session, target, seen.facts)

    def found_at(self, target: Target | None) -> tuple[Finding, ...]:
        """All that the rules find, as for that target."""
        if self.found is not None and self.context.target == target:
            return self.found
        return tuple(find_all(self.at(target).anew()))


def looks_at(
    session: Session, plan: Plan, target: Target | None = None, facts: Facts | None = None
) -> tuple[Look, Look]:
    """The session before and after a plan that was made for it."""
    after = applied(session, plan.changes) if plan.changes else session
    return Look(Context(session, target, facts)), Look(Context(after, target, facts))


@dataclass(frozen=True, slots=True)
class Preview:
    """What a plan would change. Verdicts judge the next request with a new prompt
    (docs/contract/design.md#verdict)."""

    verdict_before: Verdict | None
    verdict_after: Verdict | None
    findings_after: tuple[Finding, ...]
    refused_before: bool = False
    refused_after: bool = False
    """The session stores that its own provider refused the last call."""

    @property
    def accepted_before(self) -> bool | None:
        """Whether the own provider takes it, for all that is known; None where no target is known."""
        return None if self.verdict_before is None else self.verdict_before.accepted and not self.refused_before

    @property
    def accepted_after(self) -> bool | None:
        """As ``accepted_before``, after the plan."""
        return None if self.verdict_after is None else self.verdict_after.accepted and not self.refused_after


@undisturbed
def preview(looks: Sequence[Look], target: Target | None = None) -> Preview:
    """Verdicts before and after a plan, and what is found after it; all computed, nothing written. ``looks``: those of
    its proposal."""
    goal = _goal(looks, target)
    now, then = (look.at(goal) for look in looks)
    return Preview(
        verdict_before=now.verdict,
        verdict_after=then.verdict,
        findings_after=looks[1].found_at(goal),
        refused_before=any(call.severity != "info" for call in now.last_calls),
        refused_after=any(call.severity != "info" for call in then.last_calls),
    )


@undisturbed
def verdicts_after(looks: Sequence[Look], target: Target | None = None) -> dict[ProtocolName, Verdict]:
    """What each protocol would answer after a plan, the own one first; {} where the session names no model."""
    goal = _goal(looks, target)
    then = looks[-1].at(goal)
    if goal is None or then.verdict is None:
        return {}
    others = (protocol for protocol in PROTOCOLS if protocol != goal.protocol)
    return {goal.protocol: then.verdict} | {
        protocol: verdict_on(then.requests, default_target(then.session, protocol)) for protocol in others
    }


@undisturbed
def bodies(looks: Sequence[Look], target: Target | None = None) -> tuple[Body | None, Body | None]:
    """The next request without a new prompt, before and after a plan; None where the client can build none."""
    goal = _goal(looks, target)
    before, after = (look.context.session for look in looks)
    return _body(before, goal), _body(after, goal)


def _goal(looks: Sequence[Look], target: Target | None) -> Target | None:
    return target or infer_target(looks[0].context.session)


def _body(session: Session, target: Target | None) -> Body | None:
    if target is None:
        return None
    try:
        return body(session, target, repairs=False)
    except LoweringError:
        return None
