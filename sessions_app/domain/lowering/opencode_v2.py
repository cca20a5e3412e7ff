"""How opencode's V2 client lowers a session (``dialects.Dialect.lowering``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from sessions_app.domain.model import V2, Session
from sessions_app.domain.wire.lowered import Lowered
from sessions_app.domain.wire.target import Target

from .replay_v2 import is_checkpoint
from .v2 import lower_v2


def lower(
    session: Session, target: Target, repairs: bool, next_prompt: str | None, generation: int | None = None
) -> Lowered:
    """The canonical messages. Raises ``LoweringError``."""
    return lower_v2(session, target, repairs, generation, next_prompt)


def opens_with(session: Session) -> str | None:
    """The client runs no task before the next turn."""
    return None


def keys(session: Session, repairs: bool) -> Callable[[Target], Hashable]:
    """The protocol only for a provider's own compaction (docs/contract/formats.md#b3)."""
    checkpoints = any(is_checkpoint(message) for message in session.history(V2))
    return lambda target: target.protocol if checkpoints else ""
