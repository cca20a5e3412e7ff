"""Canonical messages and their provenance (docs/contract/formats.md#b3, docs/contract/design.md#6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

type CanonicalMessage = dict[str, Any]
"""``{id?, role: system|user|assistant|tool, content: [...], metadata?}`` with keys in the order the goldens have."""


class Origin(NamedTuple):
    """Where something in a payload comes from; part "" = the message as a whole; both "" = made up by the client."""

    message: str
    part: str


NOBODY: Final = Origin("", "")

type Path = tuple[str | int, ...]
type Provenance = Mapping[Path, Origin]
"""Path in the body (e.g. ("messages", 2, "tool_calls", 0)) -> origin. Messages and their blocks/items are listed, not
scalars."""


class BlockOrigins(Mapping[Path, Origin]):
    """Provenance of a body whose ``list_key`` holds messages with their blocks under ``block_key``.

    ``blocks[i][j]`` is the origin of block j of message i, ``messages[i]`` that of the message (without ``messages``:
    the stored message of its first block). Paths are made when they are asked for: as keys they would take more room
    than the body.
    """

    __slots__ = ("_block_key", "_blocks", "_list_key", "_messages")

    def __init__(
        self,
        list_key: str,
        block_key: str,
        blocks: Sequence[Sequence[Origin]],
        messages: Sequence[Origin] | None = None,
    ) -> None:
        self._list_key = list_key
        self._block_key = block_key
        self._blocks = blocks
        self._messages = messages

    def __getitem__(self, path: Path) -> Origin:
        match path:
            case (str() as list_key, int() as index) if list_key == self._list_key:
                whole = self._whole(index) if 0 <= index < len(self._blocks) else None
                if whole is not None:
                    return whole
            case (str() as list_key, int() as index, str() as block_key, int() as at) if (
                list_key == self._list_key
                and block_key == self._block_key
                and 0 <= index < len(self._blocks)
                and 0 <= at < len(self._blocks[index])
            ):
                return self._blocks[index][at]
        raise KeyError(path)

    def __iter__(self) -> Iterator[Path]:
        for index, origins in enumerate(self._blocks):
            if self._whole(index) is not None:
                yield self._list_key, index
            for at in range(len(origins)):
                yield self._list_key, index, self._block_key, at

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def _whole(self, index: int) -> Origin | None:
        if self._messages is not None:
            return self._messages[index]
        origins = self._blocks[index]
        return Origin(origins[0].message, "") if origins else None


@dataclass(slots=True)
class Lowered:
    """A history lowered to canonical messages. ``origins[i][j]`` is the origin of ``messages[i]["content"][j]``."""

    messages: list[CanonicalMessage]
    origins: list[list[Origin]]
    notes: list[Origin] = field(default_factory=list)
    """Stored parts that the lowering drops (not sent)."""
    client: str = ""
    """The version that the session names, "" = none."""
    whole: bool = False
    """No text in it holds half a surrogate pair; False where nobody looked."""
    ends: bool = False
    """The request ends here, as inside a turn; else one more user message follows, whether it is shown or not."""


@dataclass(slots=True)
class Body:
    """A request body, exactly as the client would send it (messages/input/contents; the client's own system prompt and
    tools left out)."""

    protocol: str
    body: dict[str, Any]
    provenance: Provenance = field(default_factory=dict)
    verified: bool = True
    """False: a V1 writer that no recording confirms (docs/contract/design.md#6: "not verified")."""


class LoweringError(Exception):
    """The client cannot build a request. ``kind`` as the goldens' error tag or stage; ``words`` are the client's
    own."""

    def __init__(
        self, kind: str, words: str, origin: Origin | None = None, extra: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.origin = origin
        self.extra = dict(extra or {})
