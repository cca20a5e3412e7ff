"""Ids that sort where they are inserted (docs/contract/formats.md#a8: order is the text order of ids; 12 hex digits
that wrap every 795 days)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_STANDARD = re.compile(r"([a-z]+_)([0-9a-f]{12})([0-9A-Za-z]{14})")
_TAIL_SPACE = 62**14
_STAMP_SPACE = 1 << 48
WRAP = _STAMP_SPACE // 0x1000
"""Milliseconds from one wrap of the ids to the next (docs/contract/formats.md#a8)."""


@dataclass(frozen=True, slots=True)
class IdParts:
    """A client-made id taken apart: prefix, 48-bit stamp ((ms * 0x1000 + counter) mod 2**48), random tail."""

    prefix: str
    stamp: int
    tail: str


def parse_id(text: str) -> IdParts | None:
    """The parts of an id in the client's own form, None for any other text."""
    match = _STANDARD.fullmatch(text)
    return IdParts(match[1], int(match[2], 16), match[3]) if match else None


def stamp_of(time_ms: int) -> int:
    """The stamp that the client mints at a time (ms since the epoch), counter zero."""
    return (time_ms * 0x1000) % _STAMP_SPACE


def mint_between(low: str | None, high: str | None) -> str:
    """A new id that sorts after ``low`` and before ``high`` (None = no bound on that side), the same for the same
    bounds.

    Ids in the client's form give one in that form, of the same epoch. Raises ValueError where nothing fits.
    """
    return mint_run(low, high, 1)[0]


def mint_run(low: str | None, high: str | None, count: int) -> list[str]:
    """``count`` new ids in ascending order between two ids, as ``mint_between``."""
    if low is None and high is None:
        raise ValueError("an id needs a neighbour")
    if low is not None and high is not None and low >= high:
        raise ValueError(f"no id sorts between {low} and {high}")
    below, above = (parse_id(low) if low else None), (parse_id(high) if high else None)
    if (low is None or below) and (high is None or above):
        minted = _standard(below, above, count)
        if minted:
            return minted
    found: list[str] = []
    for _ in range(count):
        low = _plain(low, high)
        found.append(low)
    return found


def _standard(low: IdParts | None, high: IdParts | None, count: int) -> list[str]:
    """Evenly between the two as numbers; without a bound on one side one stamp apart. [] where there is no room."""
    known = low or high
    assert known is not None
    room = (count + 1) * _TAIL_SPACE
    bottom = _number(low) if low else _number(known) - room
    top = _number(high) if high else _number(known) + room
    step = (top - bottom) // (count + 1)
    if step == 0 or bottom < 0 or top >= _STAMP_SPACE * _TAIL_SPACE:
        return []
    return [_compose(known.prefix, bottom + step * (index + 1)) for index in range(count)]


def _number(parts: IdParts) -> int:
    value = parts.stamp
    for digit in parts.tail:
        value = value * 62 + _DIGITS.index(digit)
    return value


def _compose(prefix: str, value: int) -> str:
    stamp, tail = divmod(value, _TAIL_SPACE)
    digits = []
    for _ in range(14):
        tail, digit = divmod(tail, 62)
        digits.append(_DIGITS[digit])
    return f"{prefix}{stamp:012x}{''.join(reversed(digits))}"


def _plain(low: str | None, high: str | None) -> str:
    """The shortest readable text between two ids of any form."""
    if low is None:
        assert high is not None
        for at in range(len(high) - 1, -1, -1):
            place = _DIGITS.find(high[at])
            if place > 0:
                return f"{high[:at]}{_DIGITS[place - 1]}z"
        raise ValueError(f"no id sorts before {high}")
    for zeros in range(8):
        candidate = f"{low}{'0' * zeros}V"
        if high is None or candidate < high:
            return candidate
    raise ValueError(f"no id sorts between {low} and {high}")
