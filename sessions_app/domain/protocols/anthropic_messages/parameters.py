"""What a request may set beside its history, on which model (A13, A14, A21c, A30, A32, A33). Checked where the body
carries it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.protocols.anthropic_messages.view import View
from sessions_app.domain.protocols.checking import Pointer, objects
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Violation

MAX_MARKS = 4


@needs("parameters")
def cache_marks(view: View) -> Iterator[Violation]:
    """A13: at most four cache marks. A14: no one-hour mark behind a five-minute one."""
    marks = list(_marks(view))
    if "cache_control" in view.request.body:
        marks.append(("cache_control", ("cache_control",), "5m"))
    if len(marks) > MAX_MARKS:
        position, pointer, _ = marks[MAX_MARKS]
        yield view.request.broken("A13", position, pointer, count=len(marks))
    short = False
    for position, pointer, ttl in marks:
        if ttl == "1h" and short:
            yield view.request.broken("A14", f"{position}.cache_control.ttl", pointer)
            return
        short = short or ttl == "5m"


@needs("parameters")
def thinking_parameters(view: View) -> Iterator[Violation]:
    """A21c: what manual thinking excludes."""
    body = view.request.body
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") not in ("auto", "none"):
        yield view.request.broken("A21c", "tool_choice", ("tool_choice",), "forced")
    if body.get("temperature", 1) != 1:
        yield view.request.broken("A21c", "temperature", ("temperature",), "warm")
    top_p = body.get("top_p", 1)
    if "top_k" in body or (isinstance(top_p, (int, float)) and top_p < 0.95):
        name = "top_k" if "top_k" in body else "top_p"
        yield view.request.broken("A21c", name, (name,))


@needs("parameters")
def model_parameters(view: View) -> Iterator[Violation]:
    """A30: the matrix of models and parameters (docs/contract/wire.md#1c)."""
    body, model = view.request.body, view.request.model
    thinking = body.get("thinking")
    mode = thinking.get("type") if isinstance(thinking, dict) else None
    refused = (mode == "enabled" and model.thinking == "adaptive") or (
        mode == "adaptive" and model.thinking == "manual"
    )
    if refused or (mode == "disabled" and model.always_thinks):
        yield view.request.broken("A30", "thinking.type", ("thinking", "type"), "mode", mode=mode)
    for name in ("temperature", "top_p", "top_k"):
        if name in body and not model.sampling:
            yield view.request.broken("A30", name, (name,))
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool") and not model.forced_tools:
        yield view.request.broken("A30", "tool_choice", ("tool_choice",), "forced")


@needs("parameters")
def tool_parameters(view: View) -> Iterator[Violation]:
    """A32: not every tool may be deferred. A33 (a warning): a chosen tool exists."""
    body = view.request.body
    tools = view.request.list_of("tools")
    if tools and all(tool.get("defer_loading") is True for tool in tools):
        yield view.request.broken("A32", "tools", ("tools",))
    choice = body.get("tool_choice")
    if not isinstance(choice, dict):
        return
    if not tools:
        yield view.request.broken("A33", "tool_choice", ("tool_choice",), doubtful=True)
    elif choice.get("type") == "tool" and choice.get("name") not in {tool.get("name") for tool in tools}:
        named = ("tool_choice", "name")
        yield view.request.broken("A33", "tool_choice.name", named, "unknown", doubtful=True, name=choice.get("name"))


def _marks(view: View) -> Iterator[tuple[str, Pointer, str]]:
    for key in ("tools", "system"):
        for index, item in enumerate(view.request.list_of(key)):
            yield from _mark(item, f"{key}.{index}", (key, index))
    for block in view.blocks:
        if block.kind == "tool_result":
            for index, item in enumerate(objects(block.data.get("content"))):
                if "cache_control" in item:
                    yield from _mark(
                        item,
                        f"{block.position}.tool_result.content.{index}",
                        (*block.pointer, "content", index),
                    )
        if "cache_control" in block.data:
            yield from _mark(block.data, block.position, block.pointer)


def _mark(item: dict[str, Any], position: str, pointer: Pointer) -> Iterator[tuple[str, Pointer, str]]:
    mark = item.get("cache_control")
    if isinstance(mark, dict):
        yield position, pointer, "1h" if mark.get("ttl") == "1h" else "5m"
