"""Halves of surrogate pairs: a string of JSON or JavaScript can hold one alone; UTF-8, and with it every provider's
JSON reader, cannot."""

from __future__ import annotations

import re
from typing import Final

_HALF: Final = re.compile("[\ud800-\udfff]")
_HALF_OR_NUL: Final = re.compile("[\x00\ud800-\udfff]")


def halved(text: str) -> bool:
    """Whether ``text`` holds half a pair. Encoding stops at the first one, and is ten times as fast as a search."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def whole(text: str) -> str:
    """``text`` with U+FFFD for every half; the same object where there is none."""
    return _HALF.sub("\ufffd", text) if halved(text) else text


def escaped(text: str) -> str:
    """``text`` with ``\\udXXX`` for every half."""
    return _HALF.sub(lambda match: f"\\u{ord(match[0]):04x}", text) if halved(text) else text


def holdable(text: str) -> bool:
    """Whether PostgreSQL's text takes it: neither a half nor NUL."""
    return "\x00" not in text and not halved(text)


def held(text: str) -> str:
    """``text`` with U+FFFD for what PostgreSQL's text refuses; the same object where it takes all."""
    return text if holdable(text) else _HALF_OR_NUL.sub("\ufffd", text)
