"""Values of rows as SQL takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions_app.stores.changes import Difference, GuardRefused

from .connection import quoted


def bound(value: Any) -> tuple[str, Any]:
    """(SQL, value) that stores text which is not UTF-8 as the bytes it was read from."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            try:
                return "CAST(? AS TEXT)", value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                raise GuardRefused([Difference("", "", "", "text with a lone surrogate cannot be stored")]) from None
    return "?", value


def where(key: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """(condition, values) that finds the rows with these values."""
    marked = [(column, *bound(value)) for column, value in key.items()]
    condition = " AND ".join(f"{quoted(column)} IS {mark}" for column, mark, _ in marked)
    return condition, [value for _, _, value in marked]
