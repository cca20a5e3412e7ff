"""Edits inside JSON text that leave every byte they do not name alone (design 4).

Duplicate keys, odd white space, numbers no double holds and lone-surrogate escapes survive. Where a key is there twice,
the last one counts, as for every JSON reader, and that one is edited; removing the key removes all of its members.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from . import jsjson
from .repair import REMOVE, Edit, JsonPath

_SPACE = re.compile(r"[ \t\n\r]*").match
_STRING_PATTERN = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_STRING = re.compile(_STRING_PATTERN).match
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null").match
_TOKEN = re.compile(r"[\[\]{}]|" + _STRING_PATTERN)


class EditError(ValueError):
    """The text is not JSON where the edit leads, or has no such place."""


class _Member(NamedTuple):
    """One member of an object (``key`` text, decoded) or item of an array (``key`` None), as offsets into the text."""

    key: str | None
    start: int
    value: int
    end: int


def edit(raw: str, edits: Iterable[Edit]) -> str:
    """``raw`` with each edit made in turn. Raises ``EditError`` where a path does not fit.

    A missing last key is added at the end of its object; objects on the way to it are created. An array takes indexes
    it has, and its own length to append. Removing what is not there changes nothing.
    """
    for change in edits:
        raw = _edit(raw, change)
    return raw


def raw_at(raw: str, path: JsonPath) -> str:
    """The text of the value at ``path``, as it is written. Raises ``EditError`` where there is none."""
    start, end = _find(raw, path)
    return raw[start:end]


def items_at(raw: str, path: JsonPath) -> list[str]:
    """The text of every item of the array at ``path``, as it is written. Raises ``EditError`` where there is no
    array."""
    members, _ = _members(raw, _find(raw, path)[0])
    return [raw[member.value : member.end] for member in members]


def _edit(raw: str, change: Edit) -> str:
    if change.value is REMOVE:
        return _remove(raw, change.path)
    text = change.value if change.raw else jsjson.dumps(change.value)
    if change.raw:
        _check(text)
    at = _space(raw, 0)
    for depth, step in enumerate(change.path):
        members, end = _members(raw, at)
        found = _member(members, step, raw[at])
        if found is None:
            return _insert(raw, at, end, members, step, _nested(change.path[depth + 1 :], text))
        at = found.value
    return raw[:at] + text + raw[_end(raw, at) :]


def _remove(raw: str, path: JsonPath) -> str:
    if not path:
        raise EditError("the document itself cannot be removed")
    at = _space(raw, 0)
    for step in path[:-1]:
        found = _member(_members(raw, at)[0], step, raw[at])
        if found is None:
            return raw
        at = found.value
    while True:
        members, end = _members(raw, at)
        found = _member(members, path[-1], raw[at])
        if found is None:
            return raw
        index = members.index(found)
        if index + 1 < len(members):
            raw = raw[: found.start] + raw[members[index + 1].start :]
        elif index:
            raw = raw[: members[index - 1].end] + raw[found.end :]
        else:
            raw = raw[: at + 1] + raw[end - 1 :]
        if found.key is None:
            return raw


def _insert(raw: str, at: int, end: int, members: list[_Member], step: str | int, text: str) -> str:
    opening = raw[at]
    if (opening == "{") != isinstance(step, str) or (opening == "[" and step != len(members)):
        raise EditError(f"no place {step!r} in {'an object' if opening == '{' else f'an array of {len(members)}'}")
    new = f"{jsjson.dumps(step)}:{text}" if opening == "{" else text
    if members:
        return f"{raw[: members[-1].end]},{new}{raw[members[-1].end :]}"
    return f"{raw[: at + 1]}{new}{raw[end - 1 :]}"


def _nested(path: JsonPath, text: str) -> str:
    for step in reversed(path):
        if isinstance(step, str):
            text = f"{{{jsjson.dumps(step)}:{text}}}"
        elif step == 0:
            text = f"[{text}]"
        else:
            raise EditError(f"no place {step} in an array that is not there")
    return text


def _find(raw: str, path: JsonPath) -> tuple[int, int]:
    at = _space(raw, 0)
    for step in path:
        found = _member(_members(raw, at)[0], step, raw[at])
        if found is None:
            raise EditError(f"nothing at {'.'.join(map(str, path))}")
        at = found.value
    return at, _end(raw, at)


def _member(members: list[_Member], step: str | int, opening: str) -> _Member | None:
    if isinstance(step, str):
        return next((member for member in reversed(members) if member.key == step), None) if opening == "{" else None
    return members[step] if opening == "[" and 0 <= step < len(members) else None


def _members(raw: str, at: int) -> tuple[list[_Member], int]:
    """The members of the object or array that opens at ``at``, and the offset behind its closing bracket."""
    opening = raw[at : at + 1]
    if opening not in ("{", "["):
        raise EditError(f"neither an object nor an array at character {at}")
    closing = "}" if opening == "{" else "]"
    members: list[_Member] = []
    at = _space(raw, at + 1)
    if raw[at : at + 1] == closing:
        return members, at + 1
    while True:
        start = at
        key = None
        if opening == "{":
            matched = _STRING(raw, at)
            if matched is None:
                raise EditError(f"no key at character {at}")
            key = _key(raw, at)
            at = _space(raw, matched.end())
            if raw[at : at + 1] != ":":
                raise EditError(f"no colon at character {at}")
            at = _space(raw, at + 1)
        end = _end(raw, at)
        members.append(_Member(key, start, at, end))
        at = _space(raw, end)
        following = raw[at : at + 1]
        if following == closing:
            return members, at + 1
        if following != ",":
            raise EditError(f"neither comma nor {closing} at character {at}")
        at = _space(raw, at + 1)


def _key(raw: str, at: int) -> str:
    try:
        text: str = scanstring(raw, at + 1)[0]
    except ValueError as error:
        raise EditError(str(error)) from None
    return text


def _end(raw: str, at: int) -> int:
    """The offset behind the value that starts at ``at``. Inside a value that is passed over, only brackets and strings
    are read."""
    first = raw[at : at + 1]
    if first == '"' or (first and first not in "{["):
        matched = (_STRING if first == '"' else _SCALAR)(raw, at)
        if matched is None:
            raise EditError(f"no value at character {at}")
        return matched.end()
    depth = 0
    for token in _TOKEN.finditer(raw, at):
        if (mark := raw[token.start()]) in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if not depth:
                return token.end()
    raise EditError(f"no value at character {at}" if not first else f"nothing closes character {at}")


def _space(raw: str, at: int) -> int:
    matched = _SPACE(raw, at)
    assert matched is not None
    return matched.end()


def _check(text: Any) -> None:
    """Verbatim text must be one JSON value, or the row would be broken by its own repair."""
    try:
        jsjson.loads(text)
    except (TypeError, ValueError) as error:
        raise EditError(f"not JSON: {error}") from None
