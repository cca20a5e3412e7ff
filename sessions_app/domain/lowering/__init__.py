"""A history as the provider is sent it, in canonical messages (docs/contract/design.md#6)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.dialects import dialect_of
from sessions_app.domain.model import Session
from sessions_app.domain.wire.lowered import Lowered
from sessions_app.domain.wire.target import Target

_imported = cache(import_module)


class Lowerer(Protocol):
    """What the module that a dialect names as its ``lowering`` holds."""

    def lower(
        self, session: Session, target: Target, repairs: bool, next_prompt: str | None, generation: int | None
    ) -> Lowered:
        """As ``lower`` below."""

    def opens_with(self, session: Session) -> str | None:
        """The task that the client runs before the next turn, None where there is none."""

    def keys(self, session: Session, repairs: bool) -> Callable[[Target], Hashable]:
        """What ``lower`` looks at in a target beside its model; targets of one key are lowered once."""


def lowerer(session: Session) -> Lowerer:
    """The lowering of the session's dialect."""
    return cast("Lowerer", _imported(dialect_of(session).lowering))


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

    With ``repairs`` the two fixes of docs/contract/design.md#6 apply; without, it is what the client sends today.
    ``generation`` says the V2 generation of rows that no server keeps: they are lowered as they are, while those of a
    stored session are settled first (docs/contract/v2-server.md#order). Raises ``LoweringError`` where the client
    cannot build a request.
    """
    return lowerer(session).lower(session, target, repairs, next_prompt, generation)


@undisturbed
def outline(
    session: Session, target: Target, repairs: bool, next_prompt: str | None, generation: int | None
) -> Lowered:
    """As ``lower``, for who asks how messages and blocks follow each other, and for nothing that calls were given or
    gave: a dialect need not read that."""
    module = lowerer(session)
    return getattr(module, "outline", module.lower)(session, target, repairs, next_prompt, generation)
