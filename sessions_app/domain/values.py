"""Stored values as derived columns show them, on either database.

PostgreSQL text refuses NUL and lone surrogates. Rows themselves are kept without losing a byte by ``domain.rowcodec``.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, Final

from sessions_app.domain.halves import held, holdable
from sessions_app.domain.rowcodec import AS_BASE64, AS_JSON, VERBATIM

_SHORT: Final = 255
_BIGINT: Final = 2**63

ENCODINGS: Final = [(VERBATIM, "verbatim"), (AS_JSON, "JSON"), (AS_BASE64, "base64 of a BLOB")]


def shown(value: Any, limit: int | None = None) -> str:
    """Text for a derived column: what a database cannot hold becomes U+FFFD; None and other kinds become ""."""
    if not isinstance(value, str):
        return ""
    return held(value if limit is None else value[:limit])


def name(value: Any) -> str:
    """A derived short name (tool, model, status): at most 255 characters."""
    return shown(value, _SHORT)


def key(value: Any) -> str:
    """An id as its indexed column keeps it: itself, or a shortened form with a digest where it is too long or odd to
    index."""
    text = value if isinstance(value, str) else json.dumps(value, default=_blob)
    if len(text) <= _SHORT and holdable(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{shown(text, 200)}~{digest}"


def _blob(value: Any) -> dict[str, str]:
    """Ids in columns keep the spelling they were first filed under."""
    if isinstance(value, bytes):
        return {"$blob": base64.b64encode(value).decode("ascii")}
    raise TypeError(f"no column value: {type(value).__name__}")


def whole(value: Any) -> int | None:
    """An integer that a BIGINT column takes, else None (the verbatim row keeps what was stored)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if -_BIGINT <= number < _BIGINT else None


def plain(value: Any) -> Any:
    """A JSON value for a JSONField: strings as ``shown``, numbers as JSON has them, deeply."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, bytes):
        return shown(value.decode("utf-8", "replace"))
    return value
