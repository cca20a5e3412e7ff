"""Verdicts on stored sessions: what the provider would answer to the next request (design 2, "verdict")."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .lowering import LoweringError, body
from .lowering.replay import opens_with_task
from .model import Session
from .protocols import judge
from .target import PROTOCOLS, ProtocolName, Target, Thinking, default_target
from .verdict import Verdict

NEXT_PROMPT: Final = "continue"
"""The user message that a history is judged with (design 2)."""


def verdict(
    session: Session, target: Target, repairs: bool = False, generation: int | None = None
) -> Verdict:
    """What ``target`` would answer if the session were continued now with ``NEXT_PROMPT``.

    Where the client cannot build that request, the verdict is a ``refusal`` in its own words; ``details`` then has the ``kind`` and
    the ``message`` and ``part`` at fault, where one is. ``details`` else has ``writer`` "not verified" (design 6), and ``opens_with``
    the task that the V1 client runs before the turn that is judged (wire-rules 6.7 C2).
    """
    try:
        request = body(session, target, repairs, NEXT_PROMPT, generation)
    except LoweringError as error:
        details = {"kind": error.kind}
        if error.origin is not None:
            details |= {"message": error.origin.message, "part": error.origin.part}
        return Verdict(target, accepted=False, refusal=error.words, details=details)
    judged = judge(request, target)
    told = dict(judged.details)
    if not request.verified:
        told["writer"] = "not verified"
    task = opens_with_task(session) if session.dialect == "opencode-v1" else None
    if task is not None:
        told["opens_with"] = task
    return replace(judged, details=told) if told else judged


def verdicts(session: Session, own: Target, thinking: Thinking = "auto") -> dict[ProtocolName, Verdict]:
    """A verdict per protocol: ``own`` for its protocol, the session's own model spoken to in the others."""
    targets = {
        protocol: own if protocol == own.protocol else default_target(session, protocol, thinking)
        for protocol in PROTOCOLS
    }
    return {protocol: verdict(session, target) for protocol, target in targets.items()}
