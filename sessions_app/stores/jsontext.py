"""JSON text by its pieces: where members begin and end, so that rows keep the text they were written with (design
4)."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Mapping
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*").match
_CUT_TAIL = re.compile(r"(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul|\\u?[0-9a-fA-F]{0,3})\Z")
_LONGEST_INT = 4_000


def _number(digits: str) -> int | float:
    """Longer ones are what JavaScript makes of them; Python refuses to read them as integers."""
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=_number).scan_once  # type: ignore[attr-defined]


class Member(NamedTuple):
    """A member of an object; ``start`` is at its key, ``value_start`` and ``end`` enclose its value, all offsets into
    the text."""

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
    match = _SPACE(text, at)
    return at if match is None else match.end()


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


def members(
    text: str, at: int, value: Callable[[str, int, str], tuple[Any, int]] | None = None
) -> tuple[list[Member], int]:
    """The members of the object at ``at`` and where it ends. ``value(text, at, key)`` reads a value its own way. Raises
    ``NotJson``."""
    found: list[Member] = []
    at = skip_space(text, _expect(text, at, "{"))
    if text.startswith("}", at):
        return found, at + 1
    while True:
        start = at
        if not text.startswith('"', at):
            raise _fault("Expected a key", text, at)
        try:
            key, at = scanstring(text, at + 1, True)
        except JSONDecodeError as error:
            raise _fault(error.msg, text, error.pos) from None
        value_start = skip_space(text, _expect(text, skip_space(text, at), ":"))
        read, end = value_end(text, value_start) if value is None else value(text, value_start, key)
        found.append(Member(key, start, value_start, end, read))
        at = skip_space(text, end)
        if text.startswith("}", at):
            return found, at + 1
        at = skip_space(text, _expect(text, at, ","))


def items[T](text: str, at: int, item: Callable[[str, int], tuple[T, int]]) -> tuple[list[T], int]:
    """The items of the array at ``at``, each read by ``item``, and where it ends. Raises ``NotJson``."""
    found: list[T] = []
    at = skip_space(text, _expect(text, at, "["))
    if text.startswith("]", at):
        return found, at + 1
    while True:
        read, at = item(text, at)
        found.append(read)
        at = skip_space(text, at)
        if text.startswith("]", at):
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
