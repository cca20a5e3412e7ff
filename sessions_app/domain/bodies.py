"""Request bodies of a history: in one target's protocol, or for several targets with what they share lowered once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Final, NamedTuple

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.dialects import dialect_of
from sessions_app.domain.lowering import lower, lowerer, outline
from sessions_app.domain.lowering.relowered import Relowered
from sessions_app.domain.lowering.v1_packages import is_verified
from sessions_app.domain.model import V1, V2, Session
from sessions_app.domain.patience import go_on
from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.protocols.traits import Told, Traits, for_target, traits_of
from sessions_app.domain.storedtexts import Measure, measured
from sessions_app.domain.wire.lowered import Body, Lowered, LoweringError
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation


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


_PERHAPS_UNSENT: Final = frozenset(
    {"textless", "empty-text", "blank-text", "server", "media", "content-result", "own-fields", "rewritten"}
)
"""Traits of histories of which a writer may leave a message out, or refuse one."""


class Sent(NamedTuple):
    """The ids of stored messages and parts of which something is in a body."""

    messages: frozenset[str]
    parts: frozenset[str]

    @classmethod
    def of(cls, body: Body) -> Sent:
        """As the body's provenance says."""
        origins = set(body.provenance.values())
        return cls(
            frozenset(origin.message for origin in origins), frozenset(origin.part for origin in origins if origin.part)
        )


class Requests:
    """Bodies of ``session``'s next request, for any target. Arguments are those of ``lower``.

    Nobody may change what it gives: canonical messages are shared between targets, and the body of ``own`` between its
    readers. That of a long session (``fartexts``) is written anew for each.
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
        self._outlines: dict[Hashable, Lowered | LoweringError] = {}
        self._traits: dict[Hashable, Told] = {}
        self._body: Body | None = None
        self._sent: Sent | None = None

    def body(self, target: Target) -> Body:
        """The request body for ``target``. Raises ``LoweringError`` where the client cannot build one."""
        if self._body is not None and target == self.own:
            return self._body
        lowered = self.lowered(target)
        made = written(lowered, self.session, target)
        if target == self.own:
            self._sent = self._sent or Sent.of(made)
            if not (isinstance(lowered.messages, Relowered) and lowered.messages.forgets):
                self._body = made
        return made

    def judged(self, target: Target, traits: Traits | None) -> Body:
        """The body to judge for ``target``: without what calls were given and gave, where nobody would look at that.
        Raises ``LoweringError``."""
        shared = self._body is not None and target == self.own
        if shared or traits is None or not REGISTRY[target.protocol].by_outline(target, traits):
            return self.body(target)
        return written(self.outlined(target), self.session, target)

    def sent(self, target: Target) -> Sent:
        """What of the history is in the body for ``target``. Raises ``LoweringError``."""
        if self._sent is not None and target == self.own:
            return self._sent
        return Sent.of(self.body(target))

    def lowered(self, target: Target) -> Lowered:
        """The canonical messages for ``target``. Raises ``LoweringError``."""
        return self._kept(self._lowered, self._key(target), target, lower)

    def outlined(self, target: Target) -> Lowered:
        """``lowered``, where the arguments and results of calls may be left empty. Raises ``LoweringError``."""
        key = self._key(target)
        return self._kept(self._lowered if key in self._lowered else self._outlines, key, target, outline)

    def _kept(
        self,
        kept: dict[Hashable, Lowered | LoweringError],
        key: Hashable,
        target: Target,
        make: Callable[..., Lowered],
    ) -> Lowered:
        if key not in kept:
            try:
                made = kept[key] = make(self.session, target, *self._how)
                made.whole = self.session.dialect in (V1, V2) and not self.measure.odd
            except LoweringError as error:
                kept[key] = error
        found = kept[key]
        if isinstance(found, LoweringError):
            raise found.with_traceback(None)
        return found

    def traits(self, target: Target) -> Traits | None:
        """What there is in the history that ``target`` could object to, None where that is not known of its dialect.
        Raises ``LoweringError``."""
        if self.session.dialect not in (V1, V2):
            return None
        key = self._key(target)
        if key not in self._traits:
            v2 = dialect_of(self.session).writer == "v2"
            self._traits[key] = traits_of(self.outlined(target), self.measure, v2)
        return for_target(self._traits[key], target)

    def silent(self, target: Target) -> bool:
        """Whether ``target`` is sure to take the history, so that no body need be written. Raises ``LoweringError``."""
        traits = self.traits(target)
        return traits is not None and REGISTRY[target.protocol].silent(target, traits)

    def unwritten(self, target: Target) -> tuple[list[Violation], tuple[str, ...]] | None:
        """What the rules say of the body for ``target`` (violations, what cannot be checked), where that can be told
        without writing it. Raises ``LoweringError``."""
        traits = self.traits(target)
        if traits is None or dialect_of(self.session).writer != "v1":
            return None
        return REGISTRY[target.protocol].unwritten(self.outlined(target), target, traits)

    def verified(self, target: Target) -> bool:
        """Whether recordings confirm what the client's writer makes for ``target`` (``Body.verified``)."""
        return is_verified(target) if dialect_of(self.session).writer == "v1" else True

    def all_sent(self, target: Target) -> bool:
        """Whether something of every canonical message is sure to be sent to ``target``. Raises ``LoweringError``."""
        traits = self.traits(target)
        return traits is not None and traits.isdisjoint(_PERHAPS_UNSENT)

    @cached_property
    def measure(self) -> Measure:
        """The measure of the session's stored texts."""
        return measured(self.session)

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
