"""What a provider would answer: violations and the verdict (docs/contract/wire.md#0)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sessions_app.domain.wire.target import Target

type Certainty = Literal["measured", "documented", "reported", "uncertain"]
"""measured: seen on the wire by a recording; documented: vendor spec (A); reported: verbatim in a public thread (B);
uncertain: C, and then only ever a warning."""

type Tag = Literal["P", "T", "R"]
"""P prefix: no further message heals it; T tail: only a request that ends so breaks it; R request: model, tools and
settings decide."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of the protocol that the payload breaks.

    ``rule`` is the id of docs/wire-rules.md (A3, O18, ...); ``error`` the provider's text, filled in; ``position`` as
    that provider writes it ("messages.1.content.2", "message[2]"); ``pointer`` the JSON path in the body. ``message``
    and ``part`` are the stored ids at fault ("" = none)."""

    rule: str
    error: str
    position: str
    pointer: tuple[str | int, ...] = ()
    message: str = ""
    part: str = ""
    certainty: Certainty = "reported"
    tag: Tag = "P"
    faults: tuple[str, ...] = ()
    """Rule codes of rules.md that this violation can come from."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``accepted`` is False exactly when ``violations`` is not empty or the client itself cannot build the request
    (``refusal``)."""

    target: Target
    accepted: bool
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    not_checkable: tuple[str, ...] = ()
    """Rule ids that no offline check can decide for this payload (signatures, server-side ids, token counts...)."""
    refusal: str = ""
    """The client's own words when no request can be made at all (docs/contract/wire.md#f6, #f18; V2 client-side
    errors)."""
    details: dict[str, str] = field(default_factory=dict)

    @property
    def opens_with(self) -> str:
        """The task ("compaction", "subtask") that the client runs before the request that is judged; "" = none."""
        return self.details.get("opens_with", "")
