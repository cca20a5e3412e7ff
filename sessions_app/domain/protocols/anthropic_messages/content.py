"""What content may be sent: emptiness, roles, the tail, system messages, broken text (A8 to A12, A16 to A20, A22, A25,
A31)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.protocols.anthropic_messages.view import THINKING, Block, Message, View
from sessions_app.domain.protocols.checking import half_characters, objects, survey, text_of
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Violation

BODY_LIMIT = 32 * 1024 * 1024


@needs("empty-text", "content-result", "textless")
def empty_text(view: View) -> Iterator[Violation]:
    """A8 and A12: no empty text block. A bare empty string is no block: legal for an assistant (A11), A10 for a
    user."""
    for block in view.blocks:
        if block.kind != "text" or block.bare or block.text:
            continue
        if "cache_control" in block.data:
            yield view.request.broken("A12", f"{block.position}.text", block.pointer)
        yield view.request.broken("A8", block.position, block.pointer)


@needs("blank-text")
def blank_text(view: View) -> Iterator[Violation]:
    """A9: no text of whitespace alone. Between signed thinking the client itself puts it there: a warning
    (docs/contract/design.md#6, A23)."""
    for message in view.messages:
        blanks = [block for block in message.blocks if block.kind == "text" and block.text and not block.text.strip()]
        if not blanks:
            continue
        doubtful = message.role == "assistant" and message.signed
        for block in blanks:
            yield view.request.broken("A9", block.position, block.pointer, doubtful=doubtful)
    for index, part in enumerate(view.request.list_of("system")):
        if part.get("type") == "text" and not text_of(part.get("text")).strip():
            yield view.request.broken("A9", f"system.{index}", ("system", index), "system")


@needs("textless", "empty-text", "blank-text", "nothing")
def empty_messages(view: View) -> Iterator[Violation]:
    """A10, and A10o on servers that still have it. An empty assistant message is legal elsewhere (A11)."""
    last = view.last
    for message in view.messages:
        if not message.empty:
            continue
        if view.older:
            if message is last and message.role == "assistant":
                continue
            yield view.request.broken("A10o", message.position, message.pointer)
        elif message.role == "user":
            yield view.request.broken("A10", message.position, message.pointer)


@needs("starts-odd", "textless", "empty-text", "nothing")
def first_message(view: View) -> Iterator[Violation]:
    """A19: there is a message, and the first is a user's."""
    if not view.messages:
        yield view.request.broken("A19", "messages", ("messages",), "none")
    elif view.messages[0].role not in ("user", "system"):
        yield view.request.broken("A19", "messages.0", ("messages", 0))


@needs("apart")
def same_roles(view: View) -> Iterator[Violation]:
    """A20: alternation is no rule of the vendor any more; gateways of unknown make may still have it. One warning per
    body."""
    if not view.older:
        return
    for group in view.groups:
        if len(group.messages) > 1 and group.role in ("user", "assistant"):
            second = group.messages[1]
            yield view.request.broken("A20", second.position, second.pointer, doubtful=True, role=group.role)
            return


@needs("ends-odd", "empty-text")
def assistant_tail(view: View) -> Iterator[Violation]:
    """A16, A17, A18: what a request that ends in an assistant turn may look like."""
    last = view.last
    if last is None or last.role != "assistant":
        return
    request = view.request
    final = last.blocks[-1] if last.blocks else None
    if final is not None and final.kind in THINKING:
        yield request.broken("A18", last.position, final.pointer)
        return
    if final is not None and final.kind == "tool_use":
        return
    if request.model.prefill is not True:
        yield request.broken("A17", last.position, last.pointer, doubtful=request.model.prefill is None)
    if request.model.prefill is not False and final is not None and final.text != final.text.rstrip():
        yield request.broken("A16", final.position, final.pointer)


@needs()
def system_messages(view: View) -> Iterator[Violation]:
    """A22: role system inside messages, on models that know it, in the places where it may stand."""
    for place, message in enumerate(view.messages):
        if message.role != "system":
            continue
        model = view.request.model
        if model.mid_system is not True:
            doubtful = model.mid_system is None
            yield view.request.broken("A22", message.position, message.pointer, tag="R", doubtful=doubtful)
        elif not _system_fits(view, place):
            yield view.request.broken("A22", message.position, message.pointer, "place")


def _system_fits(view: View, place: int) -> bool:
    before = view.messages[place - 1] if place else None
    after = view.messages[place + 1] if place + 1 < len(view.messages) else None
    return before is not None and _takes_system(before) and (after is None or after.role == "assistant")


def _takes_system(before: Message) -> bool:
    if before.role == "user":
        return True
    last = before.blocks[-1].kind if before.blocks else ""
    return before.role == "assistant" and (last == "server_tool_use" or last.endswith("_tool_result"))


@needs("content-result")
def error_results(view: View) -> Iterator[Violation]:
    """A25: a result marked as error holds text only."""
    for block in view.blocks:
        if block.kind != "tool_result" or block.data.get("is_error") is not True:
            continue
        if any(item.get("type") != "text" for item in objects(block.data.get("content"))):
            yield view.request.broken("A25", f"{block.position}.tool_result", block.pointer)


@needs("halves", "huge")
def whole_body(view: View) -> Iterator[Violation]:
    """A29 and A31: the size of the request, and half surrogate pairs in any string of it."""
    size, halved = survey(view.request.body)
    if size > BODY_LIMIT:
        yield view.request.broken("A29", "messages", ("messages",))
    if halved:
        yield from half_characters(view.request)


@needs("content-result")
def nested_empty_text(view: View) -> Iterator[Violation]:
    """A8 inside a result: no probe is known (docs/contract/wire.md#1b), so a warning."""
    for block in view.blocks:
        if block.kind == "tool_result":
            yield from _nested(view, block)


def _nested(view: View, block: Block) -> Iterator[Violation]:
    for index, item in enumerate(objects(block.data.get("content"))):
        if item.get("type") == "text" and item.get("text") == "":
            position = f"{block.position}.tool_result.content.{index}"
            yield view.request.broken("A8", position, (*block.pointer, "content", index), doubtful=True)
