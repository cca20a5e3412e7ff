"""Which item needs which other item (R1 to R4, R8, R9, R16, R17)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.protocols.openai_responses.items import Item, View
from sessions_app.domain.protocols.traits import needs, outlined
from sessions_app.domain.wire.verdict import Tag, Violation

_CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_OUTPUTS = {output: call for call, output in _CALLS.items()}
_FOLLOWS = (
    "message",
    "function_call",
    "custom_tool_call",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
)


@needs("unpaired", "repeated-id", "odd-id", "server")
def unanswered_calls(view: View) -> Iterator[Violation]:
    """R1: an output for every call, anywhere later in the input."""
    last: dict[str, int] = {}
    for item in view.items:
        if item.kind in _OUTPUTS:
            last[item.call_id] = item.index
    for item in view.items:
        if item.kind in _CALLS and last.get(item.call_id, -1) < item.index:
            tag: Tag = "T" if item is view.items[-1] else "P"
            yield view.request.broken("R1", item.position, item.pointer, tag=tag, id=item.call_id)


@needs("unpaired", "repeated-id", "odd-id", "server")
def unknown_outputs(view: View) -> Iterator[Violation]:
    """R2: a call item (a reference does not count) before every output."""
    called: set[str] = set()
    for item in view.items:
        if item.kind in _CALLS:
            called.add(item.call_id)
        elif item.kind in _OUTPUTS and item.call_id not in called:
            yield view.request.broken("R2", item.position, item.pointer, id=item.call_id)


@needs("repeated-id", "odd-id", "unpaired", "server")
def repeated_calls(view: View) -> Iterator[Violation]:
    """R16: a second output for one id was refused by gateways (docs/contract/rules.md#2.11); a second call alone is no
    documented rule: a warning."""
    calls: dict[str, Item] = {}
    outputs: dict[str, Item] = {}
    for item in view.items:
        if item.kind in _CALLS:
            earlier = calls.setdefault(item.call_id, item)
            if earlier is not item:
                yield view.request.broken(
                    "R16",
                    item.position,
                    item.pointer,
                    "call",
                    doubtful=True,
                    faults=(_repeat(view, earlier, item),),
                    id=item.call_id,
                    earlier=earlier.position,
                )
        elif item.kind in _OUTPUTS:
            earlier = outputs.setdefault(item.call_id, item)
            if earlier is not item:
                faults = (_repeat(view, earlier, item),)
                yield view.request.broken("R16", item.position, item.pointer, faults=faults, id=item.call_id)


def _repeat(view: View, earlier: Item, later: Item) -> str:
    before, after = view.request.origin(earlier.pointer).message, view.request.origin(later.pointer).message
    return "duplicate-call-id-in-message" if before and before == after else "duplicate-call-id-across-turns"


@needs("odd-sealed")
def repeated_items(view: View) -> Iterator[Violation]:
    """R8: no item id twice (a reference to an id is a use of it)."""
    first: dict[str, Item] = {}
    for item in view.items:
        if item.id and first.setdefault(item.id, item) is not item:
            yield view.request.broken("R8", item.position, item.pointer, id=item.id)


@needs("odd-sealed")
def lone_reasoning(view: View) -> Iterator[Violation]:
    """R3: reasoning that carries its id is followed by what was generated after it."""
    for place, item in enumerate(view.items):
        if item.kind != "reasoning" or not item.id:
            continue
        follower = view.items[place + 1] if place + 1 < len(view.items) else None
        if follower is None or not _generated(follower):
            yield view.request.broken("R3", item.position, item.pointer, id=item.id)


def _generated(item: Item) -> bool:
    """It came from the model. A reference may stand for anything that did."""
    if item.kind == "message":
        return item.data.get("role") == "assistant"
    return item.kind in _FOLLOWS or item.kind == "item_reference"


@needs("odd-sealed")
def calls_without_reasoning(view: View) -> Iterator[Violation]:
    """R4: a model item with its id wants the reasoning it was generated after. Which one that was is known only where
    other items of the same turn kept their reasoning: a warning."""
    reasoned = any(item.kind == "reasoning" and item.id for item in view.items)
    before: Item | None = None
    for item in view.items:
        if reasoned and item.id and item.kind in ("function_call", "message") and not _follows_reasoning(before):
            yield view.request.broken("R4", item.position, item.pointer, doubtful=True, id=item.id, kind=item.kind)
        before = item


def _follows_reasoning(before: Item | None) -> bool:
    return before is not None and (
        before.kind in ("reasoning", "item_reference") or (_generated(before) and bool(before.id))
    )


@needs("odd-sealed")
def references(view: View) -> Iterator[Violation]:
    """R9: without storage no item can be named by its id alone; reasoning with an id but no content is such a
    naming."""
    if not view.stateless:
        return
    for item in view.items:
        bare = item.kind == "reasoning" and bool(item.id) and not item.data.get("encrypted_content")
        if item.kind == "item_reference" or bare:
            yield view.request.broken("R9", item.position, item.pointer, id=item.id)


@needs("thinking-calls")
@outlined
def reasoning_before_calls(view: View) -> Iterator[Violation]:
    """R17: gateways of the DeepSeek kind want reasoning in front of every call."""
    if not view.gateway:
        return
    before: Item | None = None
    for item in view.items:
        if item.kind == "function_call" and (before is None or before.kind not in ("reasoning", "function_call")):
            yield view.request.broken("R17", item.position, item.pointer)
        before = item
