"""Edits inside JSON text that leave every byte they do not name alone (docs/contract/design.md#4).

Duplicate keys, odd white space, numbers no double holds and lone-surrogate escapes survive. Where a key is there twice,
the last one counts, as for every JSON reader, and that one is edited; removing the key removes all of its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import jsjson
from .jsontext import Member, NotJson, passed, pieces, skip_space
from .repair import REMOVE, Edit, JsonPath


class EditError(ValueError):
    """The text is not JSON where the edit leads, or has no such place."""


def edit(raw: str, edits: Iterable[Edit]) -> str:
    """``raw`` with each edit made in turn. Raises ``EditError`` where a path does not fit.

    A missing last key is added at the end of its object; objects on the way to it are created. An array takes indexes
    it has, and its own length to append. Removing what is not there changes nothing.
    """
    with _explained():
        for change in edits:
            raw = _edit(raw, change)
    return raw


def raw_at(raw: str, path: JsonPath) -> str:
    """The text of the value at ``path``, as it is written. Raises ``EditError`` where there is none."""
    with _explained():
        start, end = _find(raw, path)
    return raw[start:end]


def items_at(raw: str, path: JsonPath) -> list[str]:
    """The text of every item of the array at ``path``, as it is written. Raises ``EditError`` where there is no
    array."""
    with _explained():
        found, _ = pieces(raw, _find(raw, path)[0])
    return [raw[piece.value_start : piece.end] for piece in found]


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except NotJson as error:
        raise EditError(str(error)) from None


def _edit(raw: str, change: Edit) -> str:
    if change.value is REMOVE:
        return _remove(raw, change.path)
    text = change.value if change.raw else jsjson.dumps(change.value)
    if change.raw:
        _check(text)
    at = skip_space(raw, 0)
    for depth, step in enumerate(change.path):
        members, end = pieces(raw, at)
        found = _member(members, step, raw[at])
        if found is None:
            return _insert(raw, at, end, members, step, _nested(change.path[depth + 1 :], text))
        at = found.value_start
    return raw[:at] + text + raw[passed(raw, at) :]


def _remove(raw: str, path: JsonPath) -> str:
    if not path:
        raise EditError("the document itself cannot be removed")
    at = skip_space(raw, 0)
    for step in path[:-1]:
        found = _member(pieces(raw, at)[0], step, raw[at])
        if found is None:
            return raw
        at = found.value_start
    while True:
        members, end = pieces(raw, at)
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
        if raw[at] == "[":
            return raw


def _insert(raw: str, at: int, end: int, members: list[Member], step: str | int, text: str) -> str:
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
    at = skip_space(raw, 0)
    for step in path:
        found = _member(pieces(raw, at)[0], step, raw[at])
        if found is None:
            raise EditError(f"nothing at {'.'.join(map(str, path))}")
        at = found.value_start
    return at, passed(raw, at)


def _member(found: list[Member], step: str | int, opening: str) -> Member | None:
    if isinstance(step, str):
        return next((member for member in reversed(found) if member.key == step), None) if opening == "{" else None
    return found[step] if opening == "[" and 0 <= step < len(found) else None


def _check(text: Any) -> None:
    """Verbatim text must be one JSON value, or the row would be broken by its own repair."""
    try:
        jsjson.loads(text)
    except (TypeError, ValueError) as error:
        raise EditError(f"not JSON: {error}") from None
