"""A history as the provider is sent it, in canonical messages (design 6)."""

from __future__ import annotations

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.model import Session
from sessions_app.domain.wire.lowered import NOBODY, Lowered
from sessions_app.domain.wire.target import Target

from .v1 import lower_v1
from .v2 import lower_v2


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
    if session.dialect == "opencode-v1":
        return lower_v1(session, target, repairs, next_prompt)
    lowered = lower_v2(session, target, repairs, generation)
    if next_prompt is not None:
        lowered.messages.append({"role": "user", "content": [{"type": "text", "text": next_prompt}], "metadata": {}})
        lowered.origins.append([NOBODY])
    return lowered
