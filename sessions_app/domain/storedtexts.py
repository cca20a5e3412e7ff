"""What can be told of a session's stored texts before anything in them is read: how long they are, and whether one may
hold what no provider's JSON reader takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from .fartexts import FarRow
from .model import Row, Session

_ODD_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")
_ODD_ESCAPE_IN_TEXT = re.compile(_ODD_ESCAPE.pattern.decode())


class Measure(NamedTuple):
    """``odd``: half a surrogate pair or NUL may be in a text; where it is False, none is. ``largest`` and ``total`` are
    characters of stored JSON: of the longest row or line, and of all of them."""

    odd: bool
    largest: int
    total: int


def measured(session: Session) -> Measure:
    """The measure of every row and line of the session, of all its histories."""
    sizes = [0]
    known = session.whole is session.rows
    odd = False
    for row in _rows(session):
        if known and isinstance(row, FarRow):
            sizes.append(row.far.length)
            continue
        text = row.get("data") or ""
        if type(text) is not str:
            odd, text = True, str(text)  # no row of a client's
        sizes.append(len(text))
        if not (known or odd):
            odd = may_be_odd(text)
    for row in session.rows.inputs:  # which are decoded only where they are sent
        prompt = str(row.get("prompt") or "")
        sizes.append(len(prompt))
        odd = odd or may_be_odd(prompt)
    return Measure(odd, max(sizes), sum(sizes))


def may_be_odd(text: str) -> bool:
    """Whether stored JSON may hold half a surrogate pair or NUL: as it is, or as an escape. NUL as it is is no JSON."""
    if text.isascii():
        return "\\u" in text and _ODD_ESCAPE_IN_TEXT.search(text) is not None
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return True
    return b"\\u" in raw and _ODD_ESCAPE.search(raw) is not None


def _rows(session: Session) -> Iterator[Row]:
    rows = session.rows
    return chain(rows.messages, rows.parts, rows.session_message, rows.lines)
