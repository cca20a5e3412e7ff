"""A history as the provider is sent it: canonical messages, and the request body of a protocol (design 6)."""

from __future__ import annotations

from typing import Final

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.model import Session
from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.wire.lowered import Body, Lowered, LoweringError, Origin, Provenance
from sessions_app.domain.wire.target import Target

__all__ = ["Body", "Lowered", "LoweringError", "Origin", "Provenance", "body", "lower"]

_NOBODY: Final = Origin("", "")


@undisturbed
def lower(
    session: Session,
    target: Target,
    repairs: bool = True,
    next_prompt: str | None = None,
    generation: int | None = None,
) -> Lowered:
    """The canonical messages that ``session``'s client would send to ``target``; with ``next_prompt`` sent as one more
    user message.

    With ``repairs`` the two fixes of design 6 apply; without, it is what the client sends today. ``generation`` says
    the V2 generation where the rows do not. Raises ``LoweringError`` where the client cannot build a request.
    """
    # Imported here: the lowerings need the table of providers, and the package of the protocols needs this package's
    # types.
    if session.dialect == "opencode-v1":
        from .v1 import lower_v1

        return lower_v1(session, target, repairs, next_prompt)
    from .v2 import lower_v2

    lowered = lower_v2(session, target, repairs, generation)
    if next_prompt is not None:
        lowered.messages.append({"role": "user", "content": [{"type": "text", "text": next_prompt}], "metadata": {}})
        lowered.origins.append([_NOBODY])
    return lowered


def body(
    session: Session,
    target: Target,
    repairs: bool = True,
    next_prompt: str | None = None,
    generation: int | None = None,
) -> Body:
    """The request body of ``lower(...)`` in the target's protocol, written as the session's client writes it.

    Raises ``LoweringError`` where the client cannot build a request, or the protocol has no place for something in it.
    """
    return written(lower(session, target, repairs, next_prompt, generation), session, target)


@undisturbed
def written(lowered: Lowered, session: Session, target: Target) -> Body:
    """``lowered`` in the target's protocol, by the writer of the session's dialect."""
    return REGISTRY[target.protocol].write(session.dialect.removeprefix("opencode-"), lowered, target)
