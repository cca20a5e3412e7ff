"""JSON as JavaScript reads and writes it (docs/contract/formats.md#b6, docs/contract/wire.md#f14).

``loads`` gives plain Python values in *JavaScript form*: object keys in JavaScript's order, and numbers rounded to
doubles and held so that they print as JavaScript prints them (integral numbers below 1e21 are ``int``). ``dumps``
writes what ``JSON.stringify`` writes, without spaces; ``encode`` is the faster half of it for values that are in that
form already.

The work is done by msgspec's C code. What JavaScript does differently is put right in one walk over the decoded value,
and texts that msgspec refuses (lone surrogates, numbers out of range) take a slower way through the standard library.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from .halves import escaped, halved
from .model import Json

MAX_SAFE: Final = 2**53 - 1
"""Integers up to here are exact in a double."""

_INDEX_LIMIT: Final = 2**32 - 2
"""The greatest key that JavaScript treats as an array index and so moves to the front."""

_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONGEST_INT: Final = 400
"""Digits beyond which an integer is Infinity in a double in any case."""


class _Float(float):
    """A number that msgspec would spell otherwise than JavaScript: from 1e21 up, or from 1e-6 up to 1e-5."""

    __slots__ = ()


def _spell(value: Any) -> Any:
    if isinstance(value, _Float):
        return msgspec.Raw(number(value).encode())
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(enc_hook=_spell).encode


class _Met(threading.local):
    """Counts for each thread, so that nobody waits for anybody."""

    odd = 0


_met = _Met()


def odd_texts() -> int:
    """How many texts ``loads`` has read so far, in this thread, that may hold half a surrogate pair or NUL."""
    return _met.odd


def loads(text: str | bytes) -> Json:
    """The value of ``text`` as ``JSON.parse`` gives it, in JavaScript form; bytes are UTF-8 in which halves of
    surrogate pairs are let through.

    Raises: ValueError: where ``JSON.parse`` throws (NaN, Infinity, a byte order mark, a no-break space, ...), or the
        nesting is so deep that no stack holds it.
    """
    try:
        # Encoded here, since msgspec would leave the encoded text cached in the string for as long as that lives.
        if isinstance(text, str) and text.isascii():
            value, nul = _decode(text), "\\u0000" in text
        else:
            raw = text if isinstance(text, bytes) else text.encode()
            value, nul = _decode(raw), b"\\u0000" in raw
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # msgspec takes no half of a surrogate pair, neither as it is nor as an escape.
        value = _loads_slowly(text.decode("utf-8", "surrogatepass") if isinstance(text, bytes) else text)
        nul = True
    _met.odd += nul
    result: Json = in_form(value)
    return result


_SEPARATORS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def encode(value: Json) -> str:
    """``JSON.stringify`` of a value in JavaScript form (from ``loads``, ``to_js``, or built of such values and of
    strings)."""
    try:
        return _encode(value).decode()
    except (ValueError, OverflowError, RecursionError):
        return _write(value)


def encoded(value: Json) -> bytes:
    """As ``encode``, in UTF-8. Raises ``UnicodeEncodeError`` where a string holds half a surrogate pair,
    ``RecursionError`` or ``OverflowError`` for what no encoder in C holds."""
    return _encode(value)


def line(value: Json) -> str:
    """As ``encode``, for one line of NDJSON: the line separators that JSON leaves bare (U+0085, U+2028, U+2029) are
    escaped, since some readers split there."""
    return encode(value).translate(_SEPARATORS)


def dumps(value: Any) -> str:
    """``JSON.stringify(value)`` of any JSON-like value; floats and keys need not be in JavaScript form."""
    return encode(to_js(value))


def pieces(value: Any) -> Iterator[str]:
    """``dumps(value)`` piece by piece: the items of a list, or of the lists that are members of an object, each by
    itself."""
    if isinstance(value, list):
        yield "["
        for index, item in enumerate(value):
            yield ("," if index else "") + dumps(item)
        yield "]"
    elif isinstance(value, dict) and not any(_is_index(str(key)) for key in value):
        yield "{"
        for index, (key, member) in enumerate(value.items()):
            yield ("," if index else "") + dumps(str(key)) + ":"
            yield from pieces(member) if isinstance(member, list) else (dumps(member),)
        yield "}"
    else:
        yield dumps(value)


def to_js(value: Any) -> Json:
    """A copy of ``value`` in JavaScript form: what ``JSON.parse`` would have given for it. Tuples become lists."""
    holder: list[Any] = [value]
    stack: list[Any] = [holder]
    while stack:
        node = stack.pop()
        for key, item in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
            if isinstance(item, dict):
                node[key] = {str(name): member for name, member in item.items()}
            elif isinstance(item, (list, tuple)):
                node[key] = list(item)
            else:
                continue
            stack.append(node[key])
    result: Json = in_form(holder[0])
    return result


def number(value: float) -> str:
    """A finite or infinite double as ``JSON.stringify`` spells it ("null" for what is not finite)."""
    if not math.isfinite(value):
        return "null"
    sign, digits, exponent = Decimal(float.__repr__(float(value))).normalize().as_tuple()
    text = "".join(map(str, digits))
    assert isinstance(exponent, int)
    if text == "0":
        return "0"
    point = len(text) + exponent
    if 0 < point <= 21:
        body = text[:point].ljust(point, "0") + ("." + text[point:] if len(text) > point else "")
    elif -6 < point <= 0:
        body = "0." + "0" * -point + text
    else:
        body = text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{point - 1:+d}"
    return "-" + body if sign else body


def pair_surrogates(text: str) -> str:
    """``text`` with adjacent surrogate halves joined to the character they spell, as in JavaScript's strings."""
    return _PAIR.sub(lambda match: match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


def _loads_slowly(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse, parse_int=_parse_int)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def in_form(value: Any) -> Any:
    """Puts a decoded value into JavaScript form, in place; iterative, since nesting is the sender's choice."""
    kind = type(value)
    if kind is not dict and kind is not list:
        return scalar(value)
    stack = [value]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            numeric = False
            for key, item in node.items():
                if key < ":" and _is_index(key):
                    numeric = True
                kind = type(item)
                if kind is str:
                    continue
                if kind is dict or kind is list:
                    stack.append(item)
                elif kind is float or (kind is int and not -MAX_SAFE <= item <= MAX_SAFE):
                    node[key] = scalar(item)
            if numeric:
                _reorder(node)
        else:
            for index, item in enumerate(node):
                kind = type(item)
                if kind is str:
                    continue
                if kind is dict or kind is list:
                    stack.append(item)
                elif kind is float or (kind is int and not -MAX_SAFE <= item <= MAX_SAFE):
                    node[index] = scalar(item)
    return value


def _is_index(key: str) -> bool:
    return _INDEX.match(key) is not None and int(key) <= _INDEX_LIMIT


def _reorder(node: dict[str, Any]) -> None:
    items = list(node.items())
    indexes = sorted((item for item in items if _is_index(item[0])), key=lambda item: int(item[0]))
    node.clear()
    node.update(indexes)
    node.update(items)


def scalar(value: Any) -> Any:
    """A number as a double, held as the Python number that prints like it; anything else as it is."""
    kind = type(value)
    if kind is int and not -MAX_SAFE <= value <= MAX_SAFE:
        try:
            value = float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    elif kind is not float:
        return value
    size = abs(value)
    if size < 1e21 and value.is_integer():
        return int(value) if size <= MAX_SAFE else int(Decimal(float.__repr__(value)))
    if size < 1e-5 or size >= 1e21:
        return value if math.isinf(value) or (size < 1e-6) else _Float(value)
    return value


_quote = json.encoder.encode_basestring


def _write(value: Any) -> str:
    """``JSON.stringify`` in plain Python, for strings with surrogate halves and for nesting that recursion cannot
    follow."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if type(item) is _Text:
            out.append(item.text)
        elif isinstance(item, str):
            out.append(_string(item))
        elif isinstance(item, dict):
            stack.append(_Text("}"))
            for index, (key, member) in reversed(list(enumerate(item.items()))):
                stack += (member, _Text(("," if index else "") + _string(key) + ":"))
            out.append("{")
        elif isinstance(item, (list, tuple)):
            stack.append(_Text("]"))
            for index, member in reversed(list(enumerate(item))):
                stack.append(member)
                if index:
                    stack.append(_Text(","))
            out.append("[")
        elif isinstance(item, float):
            out.append(number(item))
        elif item is None or isinstance(item, bool):
            out.append("null" if item is None else "true" if item else "false")
        elif isinstance(item, int):
            out.append(str(item))
        else:
            raise TypeError(f"{type(item).__name__} is not a JSON value")
    return "".join(out)


class _Text:
    """Finished output on the stack of ``_write``."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _string(text: str) -> str:
    quoted: str = _quote(text)
    return escaped(pair_surrogates(quoted)) if halved(quoted) else quoted


def string(value: Json) -> str:
    """``String(value)``: what a template or a join makes of a JSON value."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if item is None else string(item) for item in value)
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return dumps(value)
