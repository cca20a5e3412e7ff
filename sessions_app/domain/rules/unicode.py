"""Text that is no valid Unicode, or that a parser stumbles over (docs/contract/rules.md#2.14;
docs/contract/formats.md#a9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.halves import held, holdable
from sessions_app.domain.model import Message, Part, ReasoningPart
from sessions_app.domain.repair import Edit, JsonPath, Operation

from .context import Context
from .finding import Choice, Finding, lossy, safe
from .operations import delete_part, edit_message, edit_part, is_v2
from .registration import rule

_WHY = "no JSON reader takes half a surrogate pair"
_NAMES = (("tool",), ("name",))
_KEPT = frozenset({"originalName", "rawInput"})
"""What another repair keeps in a call's metadata as it was; it is not sent."""
_V2_FIELDS = frozenset({"text", "summary", "recent", "command", "output"})


def clean(value: Any) -> Any:
    """The value with every lone surrogate and NUL replaced by U+FFFD; whole pairs (emoji) are not touched."""
    if isinstance(value, str):
        return held(value)
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
            if not holdable(item):
                yield at
        elif isinstance(item, dict):
            if not all(map(holdable, item)):
                yield at
            else:
                stack.extend((member, (*at, key)) for key, member in item.items())
        elif isinstance(item, list):
            stack.extend((member, (*at, index)) for index, member in enumerate(item))


def value_at(value: Any, path: JsonPath) -> Any:
    """What stands at a path; KeyError, IndexError or TypeError where there is nothing."""
    for step in path:
        value = value[step]
    return value


@rule("invalid-unicode", severity="blocked", safety="safe", needs="odd-text")
def find(context: Context) -> Iterator[Finding]:
    """Lone surrogates and NULs in parts, and in what a V2 row without content items says."""
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
    return "\\u" in raw or not holdable(raw)


def _replace(operation: Operation) -> Choice:
    return safe("replace", "Replace each by U+FFFD; whole characters are not touched", operation)


def _cleaned(data: Any, paths: list[JsonPath]) -> list[Edit]:
    return [Edit(path, clean(value_at(data, path))) for path in paths]


def _dotted(paths: list[JsonPath]) -> list[str]:
    return [".".join(map(str, path)) for path in paths]


def _part_finding(context: Context, message: Message, part: Part, paths: list[JsonPath]) -> Finding:
    if isinstance(part, ReasoningPart) and part.signed:
        choice = lossy("drop", "Drop the thinking block: signed text is never edited", delete_part(part, _WHY))
    else:
        choice = _replace(edit_part(part, _cleaned(part.data, paths), _WHY))
    where = _dotted(paths)
    return context.finding(
        f"{part.id} holds {_what(part.data, paths)} at {', '.join(where[:3])}{' and more' if len(where) > 3 else ''}",
        choice,
        messages=[message],
        parts=[part],
        severity="info",
        refusal=context.refusal(parts=[part]),
        details={"paths": where},
    )


def _name_finding(context: Context, message: Message, part: Part, paths: list[JsonPath]) -> Finding:
    """A tool's name; ``tool-name-invalid`` repairs it and keeps the original."""
    return context.finding(
        f"{part.id} holds {_what(part.data, paths)} in its tool's name",
        messages=[message],
        parts=[part],
        severity="info",
        refusal=context.refusal(parts=[part]),
        details={"paths": _dotted(paths), "repaired_by": "tool-name-invalid"},
    )


def _message_finding(context: Context, message: Message, paths: list[JsonPath]) -> Finding:
    return context.finding(
        f"{message.id} holds {_what(message.data, paths)}",
        _replace(edit_message(message, _cleaned(message.data, paths), _WHY)),
        messages=[message],
        severity="info",
        refusal=context.refusal(messages=[message]),
        details={"paths": _dotted(paths)},
    )


def _what(data: Any, paths: list[JsonPath]) -> str:
    # repr writes a surrogate inside a broken key as an escape.
    text = repr([value_at(data, path) for path in paths])
    return "half a surrogate pair" if "\\ud" in text else "a NUL character"
