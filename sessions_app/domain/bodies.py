"""Request bodies of a history: in one target's protocol, or for several targets with what they share lowered once."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.lowering import lower
from sessions_app.domain.lowering.replay import opens_with_task
from sessions_app.domain.lowering.replay_v2 import is_checkpoint
from sessions_app.domain.lowering.v1_packages import package_of
from sessions_app.domain.model import Session
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
    return REGISTRY[target.protocol].write(session.dialect.removeprefix("opencode-"), lowered, target)


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
        """The task that the client runs before the next turn (``opens_with_task``; V2 has none)."""
        return opens_with_task(self.session) if self.session.dialect == "opencode-v1" else None

    def _key(self, target: Target) -> Hashable:
        """What the lowering looks at in a target: the package only for media in results and for the two fixes
        (docs/contract/wire.md#6.1.5, #6.1.6), the protocol only for a provider's own compaction
        (docs/contract/formats.md#b3)."""
        key = (target.provider, target.model, target.metadata_key)
        if self.session.dialect == "opencode-v2":
            return (*key, target.protocol if self._checkpoints else "")
        return (*key, package_of(target) if self._how[0] or self._attachments else "")

    @cached_property
    def _checkpoints(self) -> bool:
        return any(is_checkpoint(message) for message in self.session.v2)

    @cached_property
    def _attachments(self) -> bool:
        return any(tool.state.get("attachments") for message in self.session.v1 for tool in message.tools())
