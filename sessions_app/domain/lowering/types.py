"""Canonical messages and their provenance (format B3, design 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

type CanonicalMessage = dict[str, Any]
"""``{id?, role: system|user|assistant|tool, content: [...], metadata?}`` with keys in the order the goldens have."""


class Origin(NamedTuple):
    """Where something in a payload comes from; part "" = the message as a whole; both "" = made up by the client."""

    message: str
    part: str


type Provenance = dict[tuple[str | int, ...], Origin]
"""Path in the body (e.g. ("messages", 2, "tool_calls", 0)) -> origin. Messages and their blocks/items are listed, not scalars."""


@dataclass(slots=True)
class Lowered:
    """A history lowered to canonical messages. ``origins[i][j]`` is the origin of ``messages[i]["content"][j]``."""

    messages: list[CanonicalMessage]
    origins: list[list[Origin]]
    notes: list[Origin] = field(default_factory=list)
    """Stored parts that the lowering drops (not sent)."""


@dataclass(slots=True)
class Body:
    """A request body, exactly as the client would send it (messages/input/contents; the client's own system prompt and tools left out)."""

    protocol: str
    body: dict[str, Any]
    provenance: Provenance = field(default_factory=dict)
    verified: bool = True
    """False: a V1 writer that no recording confirms (design 6: "not verified")."""


class LoweringError(Exception):
    """The client cannot build a request. ``kind`` as the goldens' error tag or stage; ``words`` are the client's own."""

    def __init__(self, kind: str, words: str, origin: Origin | None = None, extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.origin = origin
        self.extra = dict(extra or {})
