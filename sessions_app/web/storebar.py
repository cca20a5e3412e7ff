"""What takes the space in a store as one bar: places and widths for an SVG that needs no style of its own, and the same
as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.template.defaultfilters import filesizeformat

from sessions_app.services.doctoring import Space

WIDTH = 1_000


@dataclass(frozen=True, slots=True)
class Piece:
    """``tone`` is a colour's name; ``words`` say it for who points at it."""

    tone: str
    name: str
    size: int
    x: float
    width: float

    @property
    def words(self) -> str:
        return f"{self.name}: {filesizeformat(self.size)}"


@dataclass(frozen=True, slots=True)
class StoreBar:
    pieces: tuple[Piece, ...]
    total: int
    width: int = WIDTH


def store_bar(sizes: Sequence[tuple[str, str, int]]) -> StoreBar:
    """``sizes``: tone, name and bytes of each piece, from the left."""
    total = sum(size for _, _, size in sizes)
    pieces, at = [], 0
    for tone, name, size in sizes:
        pieces.append(Piece(tone, name, size, *_share(at, size, total)))
        at += size
    return StoreBar(tuple(pieces), total)


_SPACE = (
    ("calm", "Conversations, and what else is stored", "rows"),
    ("risk", "Event log", "events"),
    ("healthy", "Free pages", "free"),
    ("repaired", "Write-ahead log", "wal"),
    ("blocked", "Old files kept", "kept"),
    ("repaired", "Snapshots", "snapshots"),
    ("healthy", "Tool output", "tool_output"),
    ("calm", "Logs", "logs"),
)


def space_bar(space: Space) -> StoreBar:
    """A store and what lies beside it; what takes nothing is left out."""
    known = ((tone, name, getattr(space, field)) for tone, name, field in _SPACE)
    return store_bar([piece for piece in known if piece[2]])


def _share(at: int, size: int, total: int) -> tuple[float, float]:
    return round(WIDTH * at / max(total, 1), 1), round(WIDTH * size / max(total, 1), 1)
