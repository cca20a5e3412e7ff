"""What an assistant message consists of while its turn runs, apart from any row shape; shapes (``v1``, ``v2``) write it
down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .events import UNCOUNTED, Failure, ToolOutput, Usage

ABORTED = "Tool execution aborted"
"""What the client itself writes for a tool that an abort closes (docs/contract/formats.md#a3)."""

type ToolStatus = Literal["pending", "running", "completed", "error"]


@dataclass(slots=True, eq=False)
class Item:
    """``id`` is the minted part id, ``start`` and ``end`` milliseconds."""

    id: str
    start: int
    end: int | None = None


@dataclass(slots=True, eq=False)
class ProseItem(Item):
    """Text or reasoning; it comes in pieces, which are joined only when they are written."""

    pieces: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(slots=True, eq=False)
class TextItem(ProseItem):
    """What the model says."""


@dataclass(slots=True, eq=False)
class ReasoningItem(ProseItem):
    """What the model thinks; ``metadata`` holds its signature."""


@dataclass(slots=True, eq=False)
class ToolItem(Item):
    """A call with what became of it. ``raw`` are pieces of the arguments' text, ``ran`` is when it began (ms)."""

    call_id: str = ""
    name: str = ""
    status: ToolStatus = "pending"
    input: dict[str, Any] = field(default_factory=dict)
    raw: list[str] = field(default_factory=list)
    ran: int | None = None
    result: ToolOutput | None = None
    error: str = ""
    interrupted: bool = False
    executed: bool = False
    """By the provider."""
    metadata: dict[str, Any] = field(default_factory=dict)
    unparsed: str = ""
    """Arguments that were no JSON object, kept beside the empty input (docs/contract/rules.md#2.23)."""

    @property
    def settled(self) -> bool:
        """Nothing more will come of it."""
        return self.status in ("completed", "error")


@dataclass(slots=True, eq=False)
class StepStartItem(Item):
    """The mark before a step; ``snapshot`` names the state of the work tree ("" = none is kept)."""

    snapshot: str = ""


@dataclass(slots=True, eq=False)
class StepFinishItem(Item):
    """The mark behind a step: why it ended and what it took; ``cost`` in dollars."""

    reason: str = ""
    usage: Usage = UNCOUNTED
    cost: float = 0
    snapshot: str = ""


@dataclass(slots=True, eq=False)
class PatchItem(Item):
    """Files that the step changed since snapshot ``hash``."""

    hash: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who answers: ``agent`` (opencode's name of it), provider, model, and the directory it works in."""

    provider: str
    model: str
    agent: str = "build"
    mode: str = ""
    directory: str = "/"
    root: str = "/"
    summary: bool = False


@dataclass(slots=True, eq=False)
class Draft:
    """The assistant message itself."""

    id: str
    session_id: str
    parent_id: str
    speaker: Speaker
    created: int
    seq: int = 0
    """Replay order of a V2 row; V1 has none."""
    completed: int | None = None
    finish: str = ""
    usage: Usage = UNCOUNTED
    cost: float = 0
    failure: Failure | None = None
    items: list[Item] = field(default_factory=list)

    def tools(self) -> list[ToolItem]:
        """Its calls, in order."""
        return [item for item in self.items if isinstance(item, ToolItem)]
