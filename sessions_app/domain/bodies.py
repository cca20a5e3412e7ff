"""Request bodies of a history: in one target's protocol, or for several targets with what they share lowered once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.dialects import dialect_of
from sessions_app.domain.lowering import lower, lowerer
from sessions_app.domain.model import Session
from sessions_app.domain.patience import go_on
from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.wire.lowered import Body, Lowered, LoweringError
from sessions_app.domain.wire.target import Target


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
    go_on()
    return REGISTRY[target.protocol].write(dialect_of(session).writer, lowered, target)


class Requests:
    """Bodies of ``session``'s next request, for any target. Arguments are those of ``lower``.

    Nobody may change what it gives: canonical messages are shared between targets, and the body of ``own`` between its
    readers.
    """

    def __init__(
        self,
        session: Session,
        own: Target | None = None,
        repairs: bool = False,
        next_prompt: str | None = None,
        generation: int | None = None,
    ) -> None:
        self.session = session
        self.own = own
        self._how = (repairs, next_prompt, generation)
        self._lowered: dict[Hashable, Lowered | LoweringError] = {}
        self._body: Body | None = None

    def body(self, target: Target) -> Body:
        """The request body for ``target``. Raises ``LoweringError`` where the client cannot build one."""
        if self._body is not None and target == self.own:
            return self._body
        made = written(self.lowered(target), self.session, target)
        if target == self.own:
            self._body = made
        return made

    def lowered(self, target: Target) -> Lowered:
        """The canonical messages for ``target``. Raises ``LoweringError``."""
        key = self._key(target)
        if key not in self._lowered:
            try:
                self._lowered[key] = lower(self.session, target, *self._how)
            except LoweringError as error:
                self._lowered[key] = error
        made = self._lowered[key]
        if isinstance(made, LoweringError):
            raise made.with_traceback(None)
        return made

    @cached_property
    def opens_with(self) -> str | None:
        """The task that the client runs before the next turn, None where there is none."""
        return lowerer(self.session).opens_with(self.session)

    def _key(self, target: Target) -> Hashable:
        """What the lowering looks at in a target."""
        return (target.provider, target.model, target.metadata_key, self._keys(target))

    @cached_property
    def _keys(self) -> Callable[[Target], Hashable]:
        return lowerer(self.session).keys(self.session, self._how[0])
