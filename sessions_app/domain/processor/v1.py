"""The opencode-v1 shape: a row of table ``message`` and one of table ``part`` for each item
(docs/contract/formats.md#a3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from .events import Usage
from .failures import v1_error
from .items import (
    Draft,
    Item,
    PatchItem,
    ProseItem,
    ReasoningItem,
    StepFinishItem,
    StepStartItem,
    ToolItem,
)
from .shapes import RowDrop, RowPut, Write, text_of


class V1Shape:
    """``key`` is the name under which the client keeps provider state ("anthropic", "openai"), "" = none is kept."""

    dialect: Literal["opencode-v1"] = "opencode-v1"

    def __init__(self, key: str = "") -> None:
        self.key = key

    def changed(self, draft: Draft, items: Iterable[Item], now: int) -> Sequence[Write]:
        return [RowPut("part", _part_row(draft, item.id, item.start, now, self.part(item))) for item in items]

    def dropped(self, draft: Draft, ids: Iterable[str], now: int) -> Sequence[Write]:
        return [RowDrop("part", part_id) for part_id in ids]

    def message(self, draft: Draft, now: int) -> Sequence[Write]:
        return [RowPut("message", _message_row(draft, now, _assistant(draft)))]

    def prompt(self, draft: Draft, text: str, part_id: str) -> Sequence[Write]:
        speaker = draft.speaker
        data = {
            "role": "user",
            "time": {"created": draft.created},
            "agent": speaker.agent,
            "model": {"providerID": speaker.provider, "modelID": speaker.model},
        }
        part = {"type": "text", "text": text}
        return [
            RowPut("message", _message_row(draft, draft.created, data)),
            RowPut("part", _part_row(draft, part_id, draft.created, draft.created, part)),
        ]

    def part(self, item: Item) -> dict[str, Any]:
        """The part's ``data``."""
        if isinstance(item, ProseItem):
            kind = "reasoning" if isinstance(item, ReasoningItem) else "text"
            time = _time(start=item.start, end=item.end)
            return {"type": kind, "text": item.text, "time": time, "metadata": self._keyed(item.metadata)}
        if isinstance(item, ToolItem):
            return {
                "type": "tool",
                "tool": item.name,
                "callID": item.call_id,
                "state": _state(item),
                "metadata": self._tool_metadata(item),
            }
        if isinstance(item, StepStartItem):
            return {"snapshot": item.snapshot or None, "type": "step-start"}
        if isinstance(item, StepFinishItem):
            return {
                "reason": item.reason,
                "snapshot": item.snapshot or None,
                "type": "step-finish",
                "tokens": tokens(item.usage),
                "cost": item.cost,
            }
        assert isinstance(item, PatchItem)
        return {"type": "patch", "hash": item.hash, "files": list(item.files)}

    def _keyed(self, metadata: dict[str, Any]) -> dict[str, Any] | None:
        return {self.key: dict(metadata)} if metadata and self.key else None

    def _tool_metadata(self, item: ToolItem) -> dict[str, Any] | None:
        metadata: dict[str, Any] = {"providerExecuted": True} if item.executed else {}
        return metadata | (self._keyed(item.metadata) or {}) or None


def tokens(usage: Usage) -> dict[str, Any]:
    """A message's or step's tokens; ``total`` only once something was counted, as the client has it."""
    counted = {
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache": {"write": usage.cache_write, "read": usage.cache_read},
    }
    return {"total": usage.total, **counted} if usage.total else counted


def _assistant(draft: Draft) -> dict[str, Any]:
    speaker = draft.speaker
    return {
        "parentID": draft.parent_id,
        "role": "assistant",
        "mode": speaker.mode or speaker.agent,
        "agent": speaker.agent,
        "summary": True if speaker.summary else None,
        "path": {"cwd": speaker.directory, "root": speaker.root},
        "cost": draft.cost,
        "tokens": tokens(draft.usage),
        "modelID": speaker.model,
        "providerID": speaker.provider,
        "time": _time(created=draft.created, completed=draft.completed),
        "finish": draft.finish or None,
        "error": v1_error(draft.failure, speaker.provider) if draft.failure is not None else None,
    }


def _state(item: ToolItem) -> dict[str, Any]:
    """What the client has for each status; partial arguments of a pending call are not kept, as there."""
    if item.status == "pending":
        return {"status": "pending", "input": {}, "raw": ""}
    time = _time(start=item.ran or item.start, end=item.end)
    if item.status == "running":
        return {"status": "running", "input": item.input, "time": time}
    if item.status == "completed":
        assert item.result is not None
        state: dict[str, Any] = {
            "status": "completed",
            "input": item.input,
            "output": item.result.output,
            "metadata": dict(item.result.metadata),
            "title": item.result.title,
            "time": time,
        }
        if item.result.attachments:
            state["attachments"] = [dict(attachment) for attachment in item.result.attachments]
        return state
    state = {"status": "error", "input": item.input, "error": item.error}
    metadata: dict[str, Any] = {"interrupted": True} if item.interrupted else {}
    if item.unparsed:
        metadata["raw"] = item.unparsed
    if metadata:
        state["metadata"] = metadata
    return {**state, "time": time}


def _time(**times: int | None) -> dict[str, int]:
    return {name: at for name, at in times.items() if at is not None}


def _message_row(draft: Draft, now: int, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": draft.id,
        "session_id": draft.session_id,
        "time_created": draft.created,
        "time_updated": now,
        "data": text_of(data),
    }


def _part_row(draft: Draft, part_id: str, created: int, now: int, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": part_id,
        "message_id": draft.id,
        "session_id": draft.session_id,
        "time_created": created,
        "time_updated": now,
        "data": text_of(data),
    }
