"""Text that is no valid Unicode, or that a parser stumbles over (rules 2.14; format A9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sessions_app.domain.model import Message, Part, ReasoningPart
from sessions_app.domain.repair import Edit, JsonPath

from .base import Choice, Context, Finding, Rule
from .ops import delete_part, edit_message, edit_part, is_v2

_BROKEN = re.compile("[\ud800-\udfff\0]")
_LONE = re.compile("[\ud800-\udfff]")
_NAMES = (("tool",), ("name",))
_KEPT = frozenset({"originalName", "rawInput"})
"""What another repair keeps in a call's metadata as it was; it is not sent."""
_V2_FIELDS = frozenset({"text", "summary", "recent", "command", "output"})


def clean(value: Any) -> Any:
    """The value with every lone surrogate and NUL replaced by U+FFFD; whole pairs (emoji) are not touched."""
    if isinstance(value, str):
        return _BROKEN.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(key): clean(member) for key, member in value.items()}
    if isinstance(value, list):
        return [clean(member) for member in value]
    return value


def broken_paths(value: Any, path: JsonPath = ()) -> Iterator[JsonPath]:
    """Where strings hold a lone surrogate or NUL; for a broken key, where its object stands."""
    stack: list[tuple[Any, JsonPath]] = [(value, path)]
    while stack:
        item, at = stack.pop()
        if isinstance(item, str):
            if _BROKEN.search(item):
                yield at
        elif isinstance(item, dict):
            if any(_BROKEN.search(key) for key in item):
                yield at
            else:
                stack.extend((member, (*at, key)) for key, member in item.items())
        elif isinstance(item, list):
            stack.extend((member, (*at, index)) for index, member in enumerate(item))


def value_at(value: Any, path: JsonPath) -> Any:
    for step in path:
        value = value[step]
    return value


def find(context: Context) -> Iterator[Finding]:
    for message in context.messages:
        for part in message.parts:
            paths = sorted(broken_paths(part.data), key=repr) if _may_be_broken(part.raw) else []
            named: list[JsonPath] = [path for path in paths if path in _NAMES]
            paths = [path for path in paths if path and path not in _NAMES and path[-1] not in _KEPT]
            if paths:
                yield _part_finding(context, message, part, paths)
            elif named:
                yield _name_finding(context, message, part, named)
        if is_v2(message) and not message.is_assistant and _may_be_broken(message.raw):
            paths = [path for path in broken_paths(message.data) if path and path[0] in _V2_FIELDS]
            if paths:
                yield _message_finding(context, message, paths)


def _may_be_broken(raw: str) -> bool:
    """Cheap test of the stored text: an escape of a surrogate or NUL, or one of these as it is."""
    return "\\u" in raw or _BROKEN.search(raw) is not None


def _part_finding(context: Context, message: Message, part: Part, paths: list[JsonPath]) -> Finding:
    severity, details = context.severity("info", "invalid-unicode", parts=(part.id,))
    why = "no JSON reader takes half a surrogate pair"
    signed = isinstance(part, ReasoningPart) and part.signed
    if signed:
        choice = Choice(
            "drop", "Drop the thinking block: signed text is never edited", "lossy", (delete_part(part, why),)
        )
    else:
        edits = [Edit(path, clean(value_at(part.data, path))) for path in paths]
        choice = Choice(
            "replace",
            "Replace each by U+FFFD; whole characters are not touched",
            "safe",
            (edit_part(part, edits, why),),
        )
    where = [".".join(map(str, path)) for path in paths]
    return Finding(
        "invalid-unicode",
        severity,
        "lossy" if signed else "safe",
        (message.id,),
        (part.id,),
        f"{part.id} holds {_what(part.data, paths)} at {', '.join(where[:3])}{' and more' if len(where) > 3 else ''}",
        {"paths": where, **details},
        (choice,),
    )


def _name_finding(context: Context, message: Message, part: Part, paths: list[JsonPath]) -> Finding:
    """A tool's name; ``tool-name-invalid`` repairs it and keeps the original."""
    severity, details = context.severity("info", "invalid-unicode", parts=(part.id,))
    return Finding(
        "invalid-unicode",
        severity,
        "manual",
        (message.id,),
        (part.id,),
        f"{part.id} holds {_what(part.data, paths)} in its tool's name",
        {
            "paths": [".".join(map(str, path)) for path in paths],
            "repaired_by": "tool-name-invalid",
            **details,
        },
    )


def _message_finding(context: Context, message: Message, paths: list[JsonPath]) -> Finding:
    severity, details = context.severity("info", "invalid-unicode", messages=(message.id,))
    edits = [Edit(path, clean(value_at(message.data, path))) for path in paths]
    operation = edit_message(message, edits, "no JSON reader takes half a surrogate pair")
    return Finding(
        "invalid-unicode",
        severity,
        "safe",
        (message.id,),
        (),
        f"{message.id} holds {_what(message.data, paths)}",
        {"paths": [".".join(map(str, path)) for path in paths], **details},
        (Choice("replace", "Replace each by U+FFFD; whole characters are not touched", "safe", (operation,)),),
    )


def _what(data: Any, paths: list[JsonPath]) -> str:
    text = repr([value_at(data, path) for path in paths])
    return (
        "half a surrogate pair"
        if _LONE.search(str([value_at(data, path) for path in paths])) or "\\ud" in text
        else "a NUL character"
    )


RULES = (
    Rule(
        "invalid-unicode",
        "Half a character",
        "blocked",
        "safe",
        what="A stored text holds a lone surrogate (half an emoji) or a NUL character.",
        rejected=(
            'Anthropic and OpenAI: "The request body is not valid JSON: no low surrogate in string"; Gemini accepts it.'
            " The V1 client cleans texts and results itself, but not the arguments of calls; on openai-chat the"
            " arguments are an escaped string, which is accepted."
        ),
        why="A tool or search string cut a character in half, or binary output was read as text.",
        repair=(
            "Each lone surrogate and NUL becomes U+FFFD; whole characters stay. Inside signed thinking nothing is"
            " edited: the block goes as a whole."
        ),
        order=86,
        find=find,
    ),
)
