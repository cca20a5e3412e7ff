"""The opencode-v2 shape, generations 2 and 3: an assistant row of table ``session_message`` with its content items
(docs/contract/formats.md#b2).

Steps and patches have no item there; the message itself says how the step ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from .failures import v2_error
from .items import Draft, Item, ProseItem, ReasoningItem, TextItem, ToolItem
from .shapes import RowPut, Write, text_of


class V2Shape:
    """Rows of generation 2 or 3."""

    dialect: Literal["opencode-v2"] = "opencode-v2"

    def __init__(self, generation: Literal[2, 3] = 3) -> None:
        self.generation = generation

    def changed(self, draft: Draft, items: Iterable[Item], now: int) -> Sequence[Write]:
        return self.message(draft, now) if any(_is_content(item) for item in items) else []

    def dropped(self, draft: Draft, ids: Iterable[str], now: int) -> Sequence[Write]:
        return self.message(draft, now) if any(True for _ in ids) else []

    def message(self, draft: Draft, now: int) -> Sequence[Write]:
        speaker = draft.speaker
        data = {
            "agent": speaker.agent,
            "model": {"id": speaker.model, "providerID": speaker.provider},
            "content": [self.item(item) for item in draft.items if _is_content(item)],
            "finish": "error" if draft.failure is not None else draft.finish or None,
            "cost": draft.cost if draft.completed is not None else None,
            "tokens": _tokens(draft) if draft.completed is not None else None,
            "error": v2_error(draft.failure) if draft.failure is not None else None,
            "time": {"created": draft.created}
            | ({"completed": draft.completed} if draft.completed is not None else {}),
        }
        return [_row(draft, "assistant", now, data)]

    def prompt(self, draft: Draft, text: str, part_id: str) -> Sequence[Write]:
        return [_row(draft, "user", draft.created, {"text": text, "time": {"created": draft.created}})]

    def item(self, item: Item) -> dict[str, Any]:
        """The content item."""
        if isinstance(item, TextItem):
            kept = item.metadata if self.generation == 3 else {}
            return {"type": "text", "text": item.text} | ({"state": dict(kept)} if kept else {})
        if isinstance(item, ReasoningItem):
            time = {"created": item.start} | ({"completed": item.end} if item.end is not None else {})
            state = {"state": dict(item.metadata)} if item.metadata else {}
            return {"type": "reasoning", "text": item.text, **state, "time": time}
        assert isinstance(item, ToolItem)
        return self._tool(item)

    def _tool(self, item: ToolItem) -> dict[str, Any]:
        time = {"created": item.start}
        if item.ran is not None:
            time["ran"] = item.ran
        if item.end is not None:
            time["completed"] = item.end
        made: dict[str, Any] = {"type": "tool", "id": item.call_id, "name": item.name}
        if item.executed:
            made["executed"] = True
        if item.metadata:
            made["providerState"] = dict(item.metadata)
        return {**made, "state": self._state(item), "time": time}

    def _state(self, item: ToolItem) -> dict[str, Any]:
        if item.status == "pending":
            return {"status": "streaming", "input": "".join(item.raw)}
        details: dict[str, Any] = dict(item.result.metadata) if item.result is not None else {}
        if item.unparsed:
            details["raw"] = item.unparsed
        named = {"structured": details} if self.generation == 2 else {"metadata": details}
        content = _content(item)
        if item.status == "running":
            return {"status": "running", "input": item.input} | (
                {"structured": {}, "content": []} if self.generation == 2 else {"metadata": {}}
            )
        if item.status == "completed":
            return {"status": "completed", "input": item.input, **named, "content": content}
        error = {"type": "interrupted" if item.interrupted else "unknown", "message": item.error}
        kept: dict[str, Any] = {"content": []} if self.generation == 2 else {}
        return {
            "status": "error",
            "input": item.input,
            **(named if details or self.generation == 2 else {}),
            **kept,
            "error": error,
        }


def _is_content(item: Item) -> bool:
    return isinstance(item, (ProseItem, ToolItem))


def _content(item: ToolItem) -> list[dict[str, Any]]:
    if item.result is None:
        return []
    files = [
        {"type": "file", "uri": attachment.get("url", ""), "mime": attachment.get("mime", "")}
        | ({"name": attachment["filename"]} if attachment.get("filename") else {})
        for attachment in item.result.attachments
    ]
    text = {"type": "text", "text": item.result.output}
    return [text, *files] if item.result.output or not files else files


def _tokens(draft: Draft) -> dict[str, Any]:
    usage = draft.usage
    return {
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache": {"read": usage.cache_read, "write": usage.cache_write},
    }


def _row(draft: Draft, kind: str, now: int, data: dict[str, Any]) -> RowPut:
    row = {
        "id": draft.id,
        "session_id": draft.session_id,
        "type": kind,
        "seq": draft.seq,
        "time_created": draft.created,
        "time_updated": now,
        "data": text_of(data),
    }
    return RowPut("session_message", row)
