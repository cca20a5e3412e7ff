"""Thinking blocks: where they must stand and what they must carry (A15, A21, A21b, A23 family, A24)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sessions_app.domain.protocols.anthropic_messages.view import THINKING, View
from sessions_app.domain.protocols.checking import Pointer, Request
from sessions_app.domain.protocols.traits import BASE64, needs, outlined
from sessions_app.domain.wire.verdict import Violation


@needs("thinking-calls")
@outlined
def thinking_first(view: View) -> Iterator[Violation]:
    """A21 as recorded (docs/contract/wire.md#c9): under manual thinking the last assistant turn, if it calls tools,
    starts with thinking.

    User text behind the results does not end the tool loop. Models that think adaptively are not held to it for
    certain.
    """
    if not view.thinking_on or "tool_use" not in view.kinds:
        return
    turns = []
    for group in view.groups:
        if group.role == "assistant":
            first = next(group.blocks, None)
            calls = any(block.kind == "tool_use" for block in group.blocks)
            if first is not None:
                turns.append(Turn(first.kind, first.message, first.pointer, calls))
            else:
                turns.append(NO_TURN)
    yield from unthought(view.request, turns)


class Turn(NamedTuple):
    """An assistant turn: the kind of its first block, the message that holds that and its path, and whether the turn
    calls tools."""

    first: str
    message: int
    pointer: Pointer
    calls: bool


NO_TURN: Final = Turn("", -1, (), calls=False)
"""A turn without a block."""


def unthought(request: Request, turns: Sequence[Turn]) -> Iterator[Violation]:
    """A21 for the turns of a request that thinks."""
    for place, turn in enumerate(turns, start=1):
        if not turn.calls or turn.first in THINKING:
            continue
        position = f"messages.{turn.message}"
        if place < len(turns):
            yield request.broken("A21", position, turn.pointer, "earlier", doubtful=True)
            continue
        doubtful = request.model.thinking in ("adaptive", "both")
        yield request.broken("A21", f"{position}.content.0.type", turn.pointer, doubtful=doubtful, found=turn.first)


@needs("ends-odd", "empty-text")
def thinking_while_off(view: View) -> Iterator[Violation]:
    """A21b: with thinking off, the assistant message in the final position holds none. Earlier thinking is ignored."""
    last = view.last
    if view.thinking_on or last is None or last.role != "assistant" or view.request.model.thinking == "adaptive":
        return
    for block in last.blocks:
        if block.kind in THINKING:
            yield view.request.broken("A21b", block.position, block.pointer)
            return


@needs("odd-signed")
def thinking_shape(view: View) -> Iterator[Violation]:
    """A23c and A23b: text and signature are there and are strings; an empty or odd signature is no signature."""
    request = view.request
    if view.kinds.isdisjoint(THINKING):
        return
    for block in view.blocks:
        if block.kind == "redacted_thinking":
            if not isinstance(block.data.get("data"), str):
                yield request.broken("A23c", f"{block.position}.redacted_thinking.data", block.pointer)
            continue
        if block.kind != "thinking":
            continue
        for name in ("signature", "thinking"):
            value = block.data.get(name)
            if not isinstance(value, str):
                say = "other" if name in block.data else ""
                yield request.broken("A23c", f"{block.position}.thinking.{name}", block.pointer, say)
        signature = block.data.get("signature")
        if isinstance(signature, str) and not (signature and BASE64.match(signature)):
            yield request.broken("A23b", block.position, block.pointer, doubtful=bool(signature))


@needs("empty-thinking")
def emptied_thinking(view: View) -> Iterator[Violation]:
    """A23, as a warning: thinking without text is right where the model omits it (docs/contract/wire.md#1c), else
    perhaps emptied by someone."""
    if view.request.model.omits_thinking or "thinking" not in view.kinds:
        return
    for block in view.blocks:
        if block.kind == "thinking" and block.data.get("thinking") == "":
            yield view.request.broken("A23", block.position, block.pointer, doubtful=True)


@needs("parameters")
def cached_thinking(view: View) -> Iterator[Violation]:
    """A15: no cache mark on thinking."""
    if view.kinds.isdisjoint(THINKING):
        return
    for block in view.blocks:
        if block.kind in THINKING and "cache_control" in block.data:
            yield view.request.broken("A15", f"{block.position}.{block.kind}.cache_control", block.pointer)
