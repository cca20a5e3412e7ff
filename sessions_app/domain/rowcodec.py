"""The one codec of stored values: rows as JSON, and JSON as text that is UTF-8 everywhere.

It serves row documents, the journal, the rows that repairs keep and the mirror. What JSON cannot say is wrapped:
``{"$base64": ...}`` a BLOB, ``{"$text64": ...}`` text that is not UTF-8, ``{"$real": "Infinity"}`` an infinite REAL.
Older rows of the mirror say ``{"$blob": ...}`` for a BLOB, and older texts hold bytes that are no UTF-8 as escapes of
their surrogates; both are still read.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, Final

from .halves import escaped, halved, holdable
from .model import Row

_WRAPPERS = frozenset({"$base64", "$text64", "$real", "$blob"})

VERBATIM: Final = ""
AS_JSON: Final = "json"
AS_BASE64: Final = "base64"


class WrappedValueError(ValueError):
    """A wrapped value whose content is not what its wrapper says."""


def to_text(value: Any) -> str:
    """Compact JSON text; lone surrogates as ``\\udXXX`` escapes, so that it can be stored and sent as UTF-8."""
    return escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def as_json(value: Any) -> Any:
    """A value of ours that may hold stored ones, as JSON can say it, deeply."""
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(item) for item in value]
    return wrapped(value) if isinstance(value, (bytes, float)) else value


def wrapped_row(row: Row) -> dict[str, Any]:
    """The row as JSON can say it."""
    return {column: wrapped(value) for column, value in row.items()}


def unwrapped_row(row: Mapping[str, Any]) -> Row:
    """The row that ``wrapped_row`` said. Raises ``WrappedValueError``."""
    return {column: unwrapped(value) if isinstance(value, dict) else value for column, value in row.items()}


def wrapped(value: Any) -> Any:
    """A column value as JSON can say it."""
    if isinstance(value, str):
        if not halved(value):
            return value
        try:
            raw = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return value
        # Escapes that would join to real characters were no bytes of a file; plain JSON escapes keep them.
        return {"$text64": base64.b64encode(raw).decode()} if raw.decode("utf-8", "surrogateescape") == value else value
    if isinstance(value, bytes):
        return {"$base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$real": repr(value)}
    return value


def is_wrapped(value: Any) -> bool:
    """It is a column value in a wrapper, and no object of JSON."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((name, content),) = value.items()
    return name in _WRAPPERS and isinstance(content, str)


def unwrapped(value: Any) -> Any:
    """The column value that ``wrapped`` said; other values as they are. Raises ``WrappedValueError``."""
    if not is_wrapped(value):
        return value
    ((name, content),) = value.items()
    if name == "$real":
        try:
            return float(content)
        except ValueError:
            raise WrappedValueError(f"no number: {content[:40]!r}") from None
    try:
        raw = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise WrappedValueError(f"{name} is not base64") from None
    return raw.decode("utf-8", "surrogateescape") if name == "$text64" else raw


def row_text(row: Row) -> str:
    """A whole row as ASCII JSON, columns in order."""
    return json.dumps(wrapped_row(row), separators=(",", ":"))


def row_from_text(text: str) -> Row:
    """The row that ``row_text`` wrote."""
    row: Row = json.loads(text)
    return unwrapped_row(row) if '{"$' in text else row


def encode_value(value: Any) -> tuple[str, str]:
    """``(text, encoding)`` of a stored value for a text column of any database: verbatim where that can hold it, else
    as JSON (escapes hold everything), a BLOB as base64."""
    if isinstance(value, str):
        return (value, VERBATIM) if holdable(value) else (json.dumps(value), AS_JSON)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii"), AS_BASE64
    return json.dumps(value), AS_JSON


def decode_value(text: str, encoding: str) -> Any:
    """The stored value again."""
    if encoding == VERBATIM:
        return text
    if encoding == AS_BASE64:
        return base64.b64decode(text)
    return json.loads(text)
