"""The errors that a session stores itself, compared with a pasted text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .envelopes import Said, said

_LEAST = 20
"""Characters (without white space) from which a piece of the words is enough; shorter words must be the whole text."""
_LONGEST = 16 * 1024


def errors_of(data: dict[str, Any]) -> Iterator[str]:
    """The words of the error in a stored message or part: V1 ``{name, data: {message, responseBody}}``, V2 ``{type,
    message}``."""
    error = data.get("error")
    if isinstance(error, str):
        yield error
    if not isinstance(error, dict):
        return
    inner = error.get("data")
    for holder in (inner if isinstance(inner, dict) else {}, error):
        for name in ("responseBody", "message"):
            if isinstance(holder.get(name), str) and holder[name].strip():
                yield holder[name]


def same_words(text: Said, stored: str) -> bool:
    """The pasted text says what is stored: either holds the other's innermost words."""
    whole = text.whole.tight
    if not whole:
        return False
    for layer in said(stored[:_LONGEST]).layers:
        words = layer.tight
        if words and (words == whole or (len(words) >= _LEAST and words in whole)):
            return True
        if any(len(ours.tight) >= _LEAST and ours.tight in words for ours in text.layers):
            return True
    return False
