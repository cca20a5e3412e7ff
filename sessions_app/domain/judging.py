"""Verdicts on stored sessions: what the provider would answer to the next request (docs/contract/design.md#verdict)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sessions_app.domain.bodies import Requests, written
from sessions_app.domain.lowering.summary_request import summary_request
from sessions_app.domain.model import Session
from sessions_app.domain.protocols import REGISTRY, judge, verdict_of
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target, Thinking, default_targets
from sessions_app.domain.wire.verdict import Verdict

NEXT_PROMPT: Final = "continue"
"""The user message that a history is judged with (docs/contract/design.md#verdict)."""
OPENS_WITH: Final = {
    "compaction": (
        "A compaction is pending: the client first sends a summary request; the turn's own request is the one after it."
    ),
    "subtask": (
        "A subtask is pending: the client first runs it in a session of its own; the turn's own request comes after it."
    ),
}
"""What to say of the task that a client runs before the request that is judged."""


def judged_requests(
    session: Session, own: Target | None = None, repairs: bool = False, generation: int | None = None
) -> Requests:
    """The requests that verdicts judge, for all who look at one session; ``own`` is the target that is asked for
    again."""
    return Requests(session, own, repairs, NEXT_PROMPT, generation)


def verdict(session: Session, target: Target, repairs: bool = False, generation: int | None = None) -> Verdict:
    """What ``target`` would answer if the session were continued now with ``NEXT_PROMPT``.

    Where the client cannot build that request, the verdict is a ``refusal`` in its own words; ``details`` then has the
    ``kind`` and the ``message`` and ``part`` at fault, where one is. ``details`` else has ``writer`` "not verified"
    (docs/contract/design.md#6), and ``opens_with`` the task that the V1 client runs before the turn that is judged
    (docs/contract/wire.md#c2).
    """
    return verdict_on(judged_requests(session, None, repairs, generation), target)


def verdict_on(requests: Requests, target: Target) -> Verdict:
    """As ``verdict``, on requests that others look at too."""
    try:
        traits = requests.traits(target)
        if traits is not None and REGISTRY[target.protocol].silent(target, traits):
            return _told(Verdict(target, accepted=True), requests.opens_with, requests.verified(target))
        told = requests.unwritten(target)
        if told is not None:
            return _told(verdict_of(target, *told), requests.opens_with, requests.verified(target))
        request = requests.judged(target, traits)
    except LoweringError as error:
        return _told(_refused(target, error), requests.opens_with)
    return _told(judge(request, target, traits), requests.opens_with, request.verified)


def summary_verdict(session: Session, target: Target) -> Verdict:
    """What ``target`` would answer to the summary request that comes first where a compaction is pending."""
    try:
        request = written(summary_request(session, NEXT_PROMPT), session, target)
    except LoweringError as error:
        return _refused(target, error)
    return _told(judge(request, target), None, request.verified)


def _refused(target: Target, error: LoweringError) -> Verdict:
    details = {"kind": error.kind}
    if error.origin is not None:
        details |= {"message": error.origin.message, "part": error.origin.part}
    return Verdict(target, accepted=False, refusal=error.words, details=details)


def _told(judged: Verdict, opens_with: str | None, verified: bool = True) -> Verdict:
    told = dict(judged.details)
    if not verified:
        told["writer"] = "not verified"
    if opens_with is not None:
        told["opens_with"] = opens_with
    return replace(judged, details=told) if told else judged


def verdicts(
    session: Session, own: Target, thinking: Thinking = "auto", requests: Requests | None = None
) -> dict[ProtocolName, Verdict]:
    """A verdict per protocol: ``own`` for its protocol, the session's own model spoken to in the others."""
    requests = requests or judged_requests(session, own)
    targets = default_targets(session, thinking) | {own.protocol: own}
    return {protocol: verdict_on(requests, target) for protocol, target in targets.items()}
