"""How the toy's client sends a history: calls and their results as they stand in the file."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from sessions_app.domain.lowering.dedupe import deduped
from sessions_app.domain.model import Message, Session, TextPart, ToolPart
from sessions_app.domain.wire.lowered import Lowered, Origin
from sessions_app.domain.wire.target import Target


def lower(session: Session, target: Target, repairs: bool, next_prompt: str | None, generation: int | None) -> Lowered:
    lowered = Lowered([], [])
    for message in session.messages:
        _add(lowered, message, repairs)
    if next_prompt is not None:
        lowered.messages.append({"role": "user", "content": [{"type": "text", "text": next_prompt}]})
        lowered.origins.append([Origin("", "")])
    return lowered


def opens_with(session: Session) -> str | None:
    return None


def keys(session: Session, repairs: bool) -> Callable[[Target], Hashable]:
    return lambda target: ""


def _add(lowered: Lowered, message: Message, repairs: bool) -> None:
    said: list[tuple[dict[str, Any], Origin]] = []
    results: list[tuple[dict[str, Any], Origin]] = []
    for part in deduped(message.parts) if repairs else message.parts:
        origin = Origin(message.id, part.id)
        if isinstance(part, TextPart):
            said.append(({"type": "text", "text": part.text}, origin))
        elif isinstance(part, ToolPart):
            call = {"id": part.call_id, "name": part.tool}
            result = {"type": "text", "value": str(part.state["output"])}
            said.append(({"type": "tool-call", **call, "input": part.input}, origin))
            results.append(({"type": "tool-result", **call, "result": result}, origin))
    for role, blocks in ((message.kind, said), ("tool", results)):
        if blocks:
            lowered.messages.append({"id": message.id, "role": role, "content": [block for block, _ in blocks]})
            lowered.origins.append([origin for _, origin in blocks])
