"""The one choice "which twin wins" among tool parts that share a call id (docs/contract/design.md#dedupe).

A retry, a replayed event stream or a second import leaves two tool parts with one call id in one assistant message. The
most informative of them is kept, at the place of the first, so that the order of text, reasoning and tools stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sessions_app.domain.model import Part, ToolPart

_WORTH: Final = {"completed": 3, "error": 2, "running": 1, "pending": 0, "streaming": 0}
"""How much a status says about what happened; one this version does not know says least."""


def winners(tools: Iterable[ToolPart]) -> list[ToolPart]:
    """One part per call id, in order of first occurrence: completed > error > running > pending/streaming, the first
    among equals.

    ``tools`` are the tool parts of *one* assistant message.
    """
    best: dict[str, ToolPart] = {}
    for tool in tools:
        held = best.get(tool.call_id)
        if held is None or _worth(tool) > _worth(held):
            best[tool.call_id] = tool
    return list(best.values())


def deduped[P: Part](parts: Sequence[P | ToolPart]) -> Sequence[P | ToolPart]:
    """The parts of one assistant message with each call id once: the winner, where its first twin stands. ``parts``
    itself where nothing is there twice."""
    tools = [part for part in parts if isinstance(part, ToolPart)]
    if len({tool.call_id for tool in tools}) == len(tools):
        return parts
    best = {tool.call_id: tool for tool in winners(tools)}
    return [
        best.pop(part.call_id) if isinstance(part, ToolPart) else part
        for part in parts
        if not isinstance(part, ToolPart) or part.call_id in best
    ]


def _worth(tool: ToolPart) -> int:
    return _WORTH.get(tool.status, -1)
