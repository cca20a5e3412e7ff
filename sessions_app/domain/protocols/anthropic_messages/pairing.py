"""Calls and results: who answers whom, under which id (A1 to A7, A2s)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sessions_app.domain.protocols.anthropic_messages.view import Block, Group, View
from sessions_app.domain.protocols.checking import text_of
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Tag, Violation

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


@needs("unpaired", "repeated-id", "odd-id", "server")
def unanswered_calls(view: View) -> Iterator[Violation]:
    """A1: every client call is answered in the leading run of results behind its assistant turn."""
    if "tool_use" not in view.kinds:
        return
    for place, group in enumerate(view.groups):
        if group.role != "assistant":
            continue
        follower = view.groups[place + 1] if place + 1 < len(view.groups) else None
        answered = {_result_id(block) for block in _leading_results(follower)}
        tag: Tag = "T" if follower is None else "P"
        for message in group.messages:
            missing = [block for block in message.blocks if block.kind == "tool_use" and _id(block) not in answered]
            if missing:
                names = ", ".join(dict.fromkeys(_id(block) for block in missing))
                yield view.request.broken("A1", message.position, missing[0].pointer, tag=tag, ids=names)


@needs("odd-signed", "unpaired", "server", "behind-calls")
def blocks_behind_calls(view: View) -> Iterator[Violation]:
    """A1, as a warning: text or thinking behind a call in one assistant message was reported to bring A1's error."""
    if "tool_use" not in view.kinds:
        return
    for message in view.messages:
        if message.role != "assistant":
            continue
        called = False
        for block in message.blocks:
            if called and block.kind in ("text", "thinking", "redacted_thinking"):
                yield view.request.broken(
                    "A1", message.position, block.pointer, "behind", doubtful=True, kind=block.kind
                )
                break
            called = called or block.kind == "tool_use"


@needs("unpaired", "repeated-id", "odd-id", "server")
def unknown_results(view: View) -> Iterator[Violation]:
    """A2: a result names a call of the assistant turn right before it."""
    called: set[str] = set()
    for group in view.groups:
        if group.role == "assistant":
            called = {_id(block) for block in group.blocks if block.kind == "tool_use"}
            continue
        for block in group.blocks:
            if block.kind == "tool_result" and _result_id(block) not in called:
                yield view.request.broken("A2", block.position, block.pointer, id=_result_id(block))
        if group.role == "user":
            called = set()


@needs("server")
def unknown_server_results(view: View) -> Iterator[Violation]:
    """A2s: a server tool's result has its call earlier in the same assistant turn."""
    if not any(kind.endswith("_tool_result") for kind in view.kinds):
        return
    for group in view.groups:
        if group.role != "assistant":
            continue
        called: set[str] = set()
        for block in group.blocks:
            if block.kind in ("server_tool_use", "mcp_tool_use"):
                called.add(_id(block))
            elif block.kind.endswith("_tool_result") and _result_id(block) not in called:
                kind = block.kind
                use = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
                yield view.request.broken(
                    "A2s", block.position, block.pointer, kind=kind, id=_result_id(block), use=use
                )


@needs("repeated-id", "odd-id", "server")
def repeated_calls(view: View) -> Iterator[Violation]:
    """A3: call ids are unique over the whole history; the second use is what the API names
    (docs/contract/wire.md#c8)."""
    first: dict[str, Block] = {}
    for block in view.blocks:
        if block.kind not in ("tool_use", "server_tool_use"):
            continue
        earlier = first.setdefault(_id(block), block)
        if earlier is not block:
            faults = (_repeat(view, earlier, block), "call-id-charset")
            yield view.request.broken("A3", block.position, block.pointer, faults=faults)


@needs("repeated-id", "odd-id", "unpaired", "server")
def repeated_results(view: View) -> Iterator[Violation]:
    """A4: one result for each call, within the user turn behind it."""
    for group in view.groups:
        if group.role != "user":
            continue
        first: dict[str, Block] = {}
        for block in group.blocks:
            if block.kind != "tool_result":
                continue
            earlier = first.setdefault(_result_id(block), block)
            if earlier is not block:
                faults = (_repeat(view, earlier, block),)
                yield view.request.broken("A4", block.position, block.pointer, faults=faults, id=_result_id(block))


@needs("odd-id", "odd-name", "odd-input", "unpaired", "server")
def malformed_calls(view: View) -> Iterator[Violation]:
    """A5, A6 and the name of a call: id and name of the right alphabet, input an object. A result is told of where its
    call is not."""
    called = {_id(block) for block in view.blocks if block.kind == "tool_use"}
    for block in view.blocks:
        if block.kind in ("tool_use", "server_tool_use"):
            yield from _malformed_call(view, block)
        elif block.kind == "tool_result" and _result_id(block) not in called and not _ID.match(_result_id(block)):
            where = f"{block.position}.tool_result.tool_use_id"
            yield view.request.broken("A5", where, (*block.pointer, "tool_use_id"))


@needs("parameters")
def malformed_definitions(view: View) -> Iterator[Violation]:
    """A7: names of tool definitions, where the body carries them."""
    seen: set[str] = set()
    for index, tool in enumerate(view.request.list_of("tools")):
        name = text_of(tool.get("name"))
        pointer = ("tools", index, "name")
        if not _NAME.match(name):
            yield view.request.broken("A7", f"tools.{index}.custom.name", pointer, tag="R")
        elif name in seen:
            yield view.request.broken("A7", "tools", pointer, "twice", tag="R")
        seen.add(name)


def _malformed_call(view: View, block: Block) -> Iterator[Violation]:
    where = f"{block.position}.{block.kind}"
    if not _ID.match(_id(block)):
        yield view.request.broken("A5", f"{where}.id", (*block.pointer, "id"))
    if not isinstance(block.data.get("input"), dict):
        say = "absent" if "input" not in block.data else "older" if view.older else ""
        yield view.request.broken("A6", f"{where}.input", (*block.pointer, "input"), say)
    name = text_of(block.data.get("name"))
    if not _NAME.match(name):
        say = "long" if len(name) > 200 else ""
        yield view.request.broken("A7", f"{where}.name", (*block.pointer, "name"), say)


def _leading_results(group: Group | None) -> Iterator[Block]:
    if group is None or group.role != "user":
        return
    for block in group.blocks:
        if block.kind != "tool_result":
            return
        yield block


def _repeat(view: View, earlier: Block, later: Block) -> str:
    """Which of the two faults a repeated id is: by stored message where that is known, else by message of the body."""
    before, after = view.request.origin(earlier.pointer), view.request.origin(later.pointer)
    same: Any = (
        before.message == after.message if before.message and after.message else earlier.message == later.message
    )
    return "duplicate-call-id-in-message" if same else "duplicate-call-id-across-turns"


def _id(block: Block) -> str:
    return text_of(block.data.get("id"))


def _result_id(block: Block) -> str:
    return text_of(block.data.get("tool_use_id"))
