"""Thinking blocks: where they must stand and what they must carry (A15, A21, A21b, A23 family, A24)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sessions_app.domain.protocols.anthropic_messages.view import THINKING, Block, Group, View
from sessions_app.domain.wire.verdict import Violation

_FIRST = (
    "Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant`"
    " message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We"
    " recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}\Z")


def thinking_first(view: View) -> Iterator[Violation]:
    """A21 as recorded (wire-rules 6.7 C9): under manual thinking the last assistant turn, if it calls tools, starts
    with thinking.

    User text behind the results does not end the tool loop. Models that think adaptively are not held to it for
    certain.
    """
    if not view.thinking_on or "tool_use" not in view.kinds:
        return
    turns = [group for group in view.groups if group.role == "assistant"]
    for group in turns:
        first = next(group.blocks, None)
        if first is None or first.kind in THINKING or not any(block.kind == "tool_use" for block in group.blocks):
            continue
        position = f"{first.position}.type"
        if group is turns[-1]:
            doubtful = view.request.model.thinking in ("adaptive", "both")
            error = f"{position}: {_FIRST.format(found=first.kind)}"
            yield view.request.broken("A21", error, position, first.pointer, doubtful=doubtful)
        else:
            yield _earlier_turn(view, group, first)


def _earlier_turn(view: View, group: Group, first: Block) -> Violation:
    error = (
        f"messages.{first.message}: an earlier assistant turn with `tool_use` does not start with thinking (allowed:"
        " not the final turn)"
    )
    return view.request.broken("A21", error, f"messages.{first.message}", first.pointer, doubtful=True)


def thinking_while_off(view: View) -> Iterator[Violation]:
    """A21b: with thinking off, the assistant message in the final position holds none. Earlier thinking is ignored."""
    last = view.last
    if view.thinking_on or last is None or last.role != "assistant" or view.request.model.thinking == "adaptive":
        return
    for block in last.blocks:
        if block.kind in THINKING:
            error = (
                f"{block.position}: When thinking is disabled, an `assistant` message in the final position cannot"
                " contain `thinking`. To use thinking blocks, enable `thinking` in your request."
            )
            yield view.request.broken("A21b", error, block.position, block.pointer)
            return


def thinking_shape(view: View) -> Iterator[Violation]:
    """A23c and A23b: text and signature are there and are strings; an empty or odd signature is no signature."""
    request = view.request
    if view.kinds.isdisjoint(THINKING):
        return
    for block in view.blocks:
        if block.kind == "redacted_thinking":
            if not isinstance(block.data.get("data"), str):
                where = f"{block.position}.redacted_thinking.data"
                yield request.broken("A23c", f"{where}: Field required", where, block.pointer)
            continue
        if block.kind != "thinking":
            continue
        for name in ("signature", "thinking"):
            value = block.data.get(name)
            if not isinstance(value, str):
                where = f"{block.position}.thinking.{name}"
                words = "Field required" if name not in block.data else "Input should be a valid string"
                yield request.broken("A23c", f"{where}: {words}", where, block.pointer)
        signature = block.data.get("signature")
        if isinstance(signature, str) and not (signature and _BASE64.match(signature)):
            error = f"{block.position}: Invalid `signature` in `thinking` block"
            yield request.broken("A23b", error, block.position, block.pointer, doubtful=bool(signature))


def emptied_thinking(view: View) -> Iterator[Violation]:
    """A23, as a warning: thinking without text is right where the model omits it (wire-rules 1c), else perhaps emptied
    by someone."""
    if view.request.model.omits_thinking or "thinking" not in view.kinds:
        return
    for block in view.blocks:
        if block.kind == "thinking" and block.data.get("thinking") == "":
            error = (
                f"{block.position}: thinking block with empty text; if it was not empty in the original response:"
                " `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These"
                " blocks must remain as they were in the original response."
            )
            yield view.request.broken("A23", error, block.position, block.pointer, doubtful=True)


def cached_thinking(view: View) -> Iterator[Violation]:
    """A15: no cache mark on thinking."""
    if view.kinds.isdisjoint(THINKING):
        return
    for block in view.blocks:
        if block.kind in THINKING and "cache_control" in block.data:
            where = f"{block.position}.{block.kind}.cache_control"
            yield view.request.broken("A15", f"{where}: Extra inputs are not permitted", where, block.pointer)
