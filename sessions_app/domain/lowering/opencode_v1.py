"""How opencode's V1 client lowers a session (``dialects.Dialect.lowering``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from sessions_app.domain.model import V1, Session
from sessions_app.domain.wire.lowered import Lowered
from sessions_app.domain.wire.target import Target

from .replay import opens_with_task
from .v1 import lower_v1
from .v1_packages import package_of


def lower(
    session: Session, target: Target, repairs: bool, next_prompt: str | None, generation: int | None = None
) -> Lowered:
    """The canonical messages. Raises ``LoweringError``."""
    return lower_v1(session, target, repairs, next_prompt)


def outline(
    session: Session, target: Target, repairs: bool, next_prompt: str | None, generation: int | None = None
) -> Lowered:
    """As ``lower``, with the arguments and results of most calls left empty."""
    return lower_v1(session, target, repairs, next_prompt, values=False)


def opens_with(session: Session) -> str | None:
    """The task that the client runs before the next turn."""
    return opens_with_task(session)


def keys(session: Session, repairs: bool) -> Callable[[Target], Hashable]:
    """The package only for media in results and for the two fixes (docs/contract/wire.md#6.1.5, #6.1.6)."""
    return package_of if repairs or _attachments(session) else lambda target: ""


def _attachments(session: Session) -> bool:
    return any(tool.attached for message in session.history(V1) for tool in message.tools())
