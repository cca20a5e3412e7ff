"""A JSON value as lines, each with the JSON pointer (RFC 6901) of what begins or ends on it. Laid out as
``json.dumps(indent=2)`` does; strings are cut, keys masked, everything is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from sessions_app.domain.secrets import masked

from .markup import escape, format_html
from .text import plain

CUT = 4_000
"""Characters of one string that are shown."""
BEFORE = 200
"""Of a long string, characters in front of what was looked for."""
_CLOSED = object()
_TOKENS = re.compile(r'(?P<nt>"(?:[^"\\]|\\.)*")(?=: )|(?P<s2>"(?:[^"\\]|\\.)*")|(?P<mi>-?\d[\d.eE+-]*)|(?P<kc>[a-z]+)')


@dataclass(frozen=True, slots=True)
class JsonLine:
    """``text`` is what stands there, before it is masked for a reader."""

    pointer: str
    text: str
    left_out: int = 0
    """Characters of a string that are not shown."""


def json_lines(value: Any, pointer: str = "", wanted: str = "") -> Iterator[JsonLine]:
    """The lines of a value that stands at ``pointer``; a string that is cut shows the place of ``wanted`` in it (lower
    case)."""
    waiting: list[tuple[str, str, Any, str]] = [(pointer, "", value, "")]
    while waiting:
        at, lead, held, tail = waiting.pop()
        if held is _CLOSED:
            yield JsonLine(at, lead + tail)
        elif isinstance(held, dict | list) and held:
            named = isinstance(held, dict)
            indent = " " * (len(lead) - len(lead.lstrip(" ")))
            yield JsonLine(at, lead + ("{" if named else "["))
            waiting.append((at, indent, _CLOSED, ("}" if named else "]") + tail))
            waiting += _members(at, indent + "  ", held)
        else:
            shown, left_out = _scalar(held, wanted)
            yield JsonLine(at, f"{lead}{shown}{tail}", left_out)


def _members(at: str, indent: str, held: dict[str, Any] | list[Any]) -> list[tuple[str, str, Any, str]]:
    """The members of a container, the last first."""
    names: Iterable[tuple[object, Any]] = held.items() if isinstance(held, dict) else enumerate(held)
    members = [
        (f"{at}/{step(name)}", f"{indent}{_dumped(name)}: " if isinstance(name, str) else indent, item, ",")
        for name, item in names
    ]
    members[-1] = (*members[-1][:3], "")
    members.reverse()
    return members


def step(name: object) -> str:
    """A member's name or number inside a pointer."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _scalar(value: Any, wanted: str) -> tuple[str, int]:
    if not isinstance(value, str) or len(value) <= CUT:
        return _dumped(value), 0
    text = masked(value)  # before it is cut: half of a key looks like none
    found = text.lower().find(wanted) if wanted else -1
    start = max(0, found - BEFORE) if found >= CUT else 0
    kept = text[start : start + CUT]
    return f"{'…' if start else ''}{_dumped(kept)}{'…' if start + CUT < len(text) else ''}", len(text) - len(kept)


def legible(text: str) -> str:
    """A line as it may be read, and searched."""
    return masked(plain(text))


def line_html(text: str, wanted: str = "", *, coloured: bool = True) -> SafeString:
    """A legible line, coloured, or with every place of ``wanted`` (lower case) marked."""
    if wanted and wanted in text.lower():
        return _marked(text, wanted)
    if not coloured:
        return escape(text)
    pieces, at = [], 0
    for token in _TOKENS.finditer(text):
        pieces.append(escape(text[at : token.start()]))
        pieces.append(format_html('<span class="{}">{}</span>', str(token.lastgroup), token[0]))
        at = token.end()
    return SafeString("".join([*pieces, escape(text[at:])]))


def _marked(text: str, wanted: str) -> SafeString:
    places = re.split(f"({re.escape(wanted)})", text, flags=re.IGNORECASE)
    return SafeString(
        "".join(format_html("<mark>{}</mark>", one) if n % 2 else escape(one) for n, one in enumerate(places))
    )
