"""Claude behind Bedrock: its own rules apply behind a prefix (B12). The body is read as a Messages body and judged
there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from sessions_app.domain.protocols.anthropic_messages import rules as messages
from sessions_app.domain.protocols.checking import Pointer, Request, objects, text_of
from sessions_app.domain.wire.verdict import Violation

_ELSEWHERE = frozenset({"A1", "A2", "A6", "A7", "A8", "A9", "A10", "A10o", "A13", "A14", "A19", "A20", "A30"})
"""Claude's rules that Bedrock checks itself first, in its own words (B1 to B9, B11)."""


def claude_rules(request: Request) -> Iterator[Violation]:
    """B12: what the model itself would refuse of what Bedrock lets through."""
    body, places = _translated(request)
    target = replace(request.target, profile="")
    found = messages.check(body, target, {}, request.traits)
    yield from behind(request, found, lambda pointer: _back(pointer, places))


def behind(
    request: Request, violations: Iterable[Violation], place: Callable[[Pointer], Pointer]
) -> Iterator[Violation]:
    """Claude's own violations as the service passes them on; ``place`` is where a path of the Messages body lies in the
    request."""
    for found in violations:
        if found.rule in _ELSEWHERE:
            continue
        yield request.broken(
            "B12",
            found.position,
            place(found.pointer),
            doubtful=found.certainty == "uncertain",
            tag=found.tag,
            faults=found.faults,
            error=found.error,
        )


def _translated(request: Request) -> tuple[dict[str, Any], list[list[int]]]:
    """The Messages body, and per message which block of it came from which block here (cache points are no blocks
    there)."""
    out: list[dict[str, Any]] = []
    places: list[list[int]] = []
    for message in request.list_of("messages"):
        blocks = objects(message.get("content"))
        kept = [index for index, block in enumerate(blocks) if "cachePoint" not in block]
        out.append({"role": message.get("role"), "content": [_block(blocks[index]) for index in kept]})
        places.append(kept)
    return {"messages": out}, places


def _back(pointer: Pointer, places: list[list[int]]) -> Pointer:
    if len(pointer) < 4:
        return pointer
    _, message, _, block, *rest = pointer
    assert isinstance(message, int)
    assert isinstance(block, int)
    return ("messages", message, "content", places[message][block], *rest)


def _block(block: dict[str, Any]) -> dict[str, Any]:
    for name, translate in _TRANSLATE.items():
        member = block.get(name)
        if isinstance(member, dict):
            return translate(member)
    if "text" in block:
        return {"type": "text", "text": block["text"]}
    return {"type": "other"}


def _reasoning(member: dict[str, Any]) -> dict[str, Any]:
    spoken = member.get("reasoningText")
    if isinstance(spoken, dict):
        signature = {"signature": spoken["signature"]} if "signature" in spoken else {}
        return {"type": "thinking", "thinking": spoken.get("text"), **signature}
    redacted = member.get("redactedContent", member.get("redactedReasoning"))
    return {
        "type": "redacted_thinking",
        "data": redacted.get("data") if isinstance(redacted, dict) else redacted,
    }


def _use(member: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": member.get("toolUseId"),
        "name": member.get("name"),
        "input": member.get("input"),
    }


def _result(member: dict[str, Any]) -> dict[str, Any]:
    content = [
        _block(item) if "json" not in item else {"type": "text", "text": "json"}
        for item in objects(member.get("content"))
    ]
    error = {"is_error": True} if member.get("status") == "error" else {}
    return {"type": "tool_result", "tool_use_id": member.get("toolUseId"), "content": content, **error}


def _image(member: dict[str, Any]) -> dict[str, Any]:
    source = member.get("source")
    data = text_of(source.get("bytes")) if isinstance(source, dict) else ""
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": f"image/{member.get('format')}", "data": data},
    }


def _document(_: dict[str, Any]) -> dict[str, Any]:
    return {"type": "document"}


_TRANSLATE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "reasoningContent": _reasoning,
    "toolUse": _use,
    "toolResult": _result,
    "image": _image,
    "document": _document,
}
