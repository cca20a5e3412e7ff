"""The one scanner of JSON text: where members and items begin and end, so that rows keep the text they were written
with (docs/contract/design.md#4).

``value_end`` reads a value, ``passed`` only finds its end: inside what it passes over, brackets and strings are looked
at and nothing else. ``members`` and ``items`` take either. Everything that does not fit raises ``NotJson``.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Mapping
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*").match
_STRING_PATTERN = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_STRING = re.compile(_STRING_PATTERN).match
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null").match
_TOKEN = re.compile(r"[\[\]{}]|" + _STRING_PATTERN)
_CUT_TAIL = re.compile(r"(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul|\\u?[0-9a-fA-F]{0,3})\Z")
_LONGEST_INT = 4_000


def _number(digits: str) -> int | float:
    """Longer ones are what JavaScript makes of them; Python refuses to read them as integers."""
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=_number).scan_once  # type: ignore[attr-defined]


class Member(NamedTuple):
    """A member of an object, or an item of an array (``key`` ""); ``start`` is at its key, ``value_start`` and
    ``end`` enclose its value, all offsets into the text. ``value`` is what the reader of values made of it."""

    key: str
    start: int
    value_start: int
    end: int
    value: Any


class NotJson(ValueError):
    """``cut``: the text ends in the middle of a value. ``at``: offset of the fault."""

    def __init__(self, reason: str, text: str, at: int, cut: bool) -> None:
        line = text.count("\n", 0, at) + 1
        super().__init__(f"{reason} at line {line}, column {at - text.rfind(chr(10), 0, at)}")
        self.at = at
        self.cut = cut


def decoded(data: bytes) -> str:
    """Text of a file: UTF-8, or UTF-16 where a byte order mark says so (PowerShell's ``>``). Other bytes become
    surrogate escapes."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "surrogateescape" if encoding == "utf-8" else "replace")
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """UTF-8, with the bytes that ``decoded`` escaped put back."""
    return text.encode("utf-8", "surrogateescape")


def skip_space(text: str, at: int) -> int:
    """The offset of what follows the white space at ``at``."""
    match = _SPACE(text, at)
    return at if match is None else match.end()


type Reader = Callable[[str, int, str], tuple[Any, int]]
"""Reads the value at an offset under a key: (what it makes of it, the offset behind it)."""


def value_end(text: str, at: int) -> tuple[Any, int]:
    """(value, end) of the JSON value at ``at``. Raises ``NotJson``."""
    try:
        return _scan(text, at)
    except StopIteration as error:
        raise _fault("Expected a value", text, int(error.value)) from None
    except JSONDecodeError as error:
        raise _fault(error.msg, text, error.pos) from None
    except RecursionError:
        raise NotJson("Nested too deeply", text, at, cut=False) from None


def passed(text: str, at: int) -> int:
    """The offset behind the value at ``at``, which is not read: however deep it is nested, it costs no stack. Raises
    ``NotJson``."""
    first = text[at : at + 1]
    if first not in ("{", "["):
        matched = (_STRING if first == '"' else _SCALAR)(text, at)
        if matched is None:
            raise _fault("Expected a value", text, at)
        return matched.end()
    depth = 0
    for token in _TOKEN.finditer(text, at):
        if (mark := text[token.start()]) in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if not depth:
                return token.end()
    raise NotJson(f"Nothing closes {first}", text, at, cut=True)


def members(text: str, at: int, value: Reader | None = None) -> tuple[list[Member], int]:
    """The members of the object at ``at`` and where it ends. ``value`` reads a value its own way. Raises
    ``NotJson``."""

    def member(text: str, start: int) -> tuple[Member, int]:
        if not text.startswith('"', start):
            raise _fault("Expected a key", text, start)
        try:
            key, at = scanstring(text, start + 1, True)
        except JSONDecodeError as error:
            raise _fault(error.msg, text, error.pos) from None
        value_start = skip_space(text, _expect(text, skip_space(text, at), ":"))
        read, end = value_end(text, value_start) if value is None else value(text, value_start, key)
        return Member(key, start, value_start, end, read), end

    return _listed(text, at, "{}", member)


def items[T](text: str, at: int, item: Callable[[str, int], tuple[T, int]]) -> tuple[list[T], int]:
    """The items of the array at ``at``, each read by ``item``, and where it ends. Raises ``NotJson``."""
    return _listed(text, at, "[]", item)


def pieces(text: str, at: int) -> tuple[list[Member], int]:
    """The members of the object, or the items of the array, that opens at ``at``, none of them read, and where it ends.
    Raises ``NotJson`` where neither does."""
    if text.startswith("[", at):
        return items(text, at, _item)
    return members(text, at, _unread)


def _unread(text: str, at: int, key: str) -> tuple[None, int]:
    return None, passed(text, at)


def _item(text: str, at: int) -> tuple[Member, int]:
    end = passed(text, at)
    return Member("", at, at, end, None), end


def _listed[T](text: str, at: int, brackets: str, one: Callable[[str, int], tuple[T, int]]) -> tuple[list[T], int]:
    """What stands between two brackets, parted by commas, each read by ``one``."""
    found: list[T] = []
    closing = brackets[1]
    at = skip_space(text, _expect(text, at, brackets[0]))
    if text.startswith(closing, at):
        return found, at + 1
    while True:
        read, at = one(text, at)
        found.append(read)
        at = skip_space(text, at)
        if text.startswith(closing, at):
            return found, at + 1
        at = skip_space(text, _expect(text, at, ","))


def without(text: str, start: int, end: int, found: list[Member], names: Collection[str]) -> str:
    """The object at ``start``..``end`` without some members; all other text stays, white space included."""
    kept = [index for index, member in enumerate(found) if member.key not in names]
    if len(kept) == len(found):
        return text[start:end]
    if not kept:
        return "{}"
    pieces = [text[start : found[0].start]]
    for place, index in enumerate(kept):
        pieces.append(text[found[index].start : found[index].end])
        if place < len(kept) - 1:
            pieces.append(text[found[index].end : found[index + 1].start])
    pieces.append(text[found[-1].end : end])
    return "".join(pieces)


def with_members(data: str, extra: Mapping[str, str], *, front: bool) -> str:
    """``data`` (an object) with string members added in front or at the end, in its own style. Other text is given back
    as it is."""
    try:
        at = skip_space(data, 0)
        found, end = members(data, at)
    except NotJson:
        return data
    colon = data[found[0].start + len(json.dumps(found[0].key)) : found[0].value_start] if found else ":"
    colon = colon if re.fullmatch(r"\s*:\s*", colon) else ":"
    new = [f"{json.dumps(key)}{colon}{json.dumps(value)}" for key, value in extra.items()]
    if not found:
        return data[:at] + "{" + ",".join(new) + "}" + data[end:]
    gap = data[at + 1 : found[0].start]
    joined = f",{gap}".join(new)
    if front:
        return f"{data[:at]}{{{gap}{joined},{gap}{data[found[0].start :]}"
    return f"{data[: found[-1].end]},{gap}{joined}{data[found[-1].end :]}"


def _expect(text: str, at: int, sign: str) -> int:
    if not text.startswith(sign, at):
        raise _fault(f"Expected {sign}", text, at)
    return at + 1


def _fault(reason: str, text: str, at: int) -> NotJson:
    """A fault at the very end, or a string that never ends, means that the text was cut."""
    cut = (
        at >= len(text.rstrip())
        or reason.startswith("Unterminated string")
        or (len(text) - at <= 8 and bool(_CUT_TAIL.search(text)))
    )
    return NotJson(reason, text, at, cut)
