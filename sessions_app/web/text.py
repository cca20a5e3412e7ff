"""Hostile text made harmless: transcripts are shown as text, never as markup, and what looks like a key is masked."""

from __future__ import annotations

import re
from functools import lru_cache

from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.data import JsonLexer

from sessions_app.domain.secrets import SECRET, masked, may_hold_secret

from .markup import escape

__all__ = [
    "has_ansi",
    "highlighted",
    "masked",
    "masked_html",
    "plain",
]

HIGHLIGHT_LIMIT = 64 * 1024
"""Characters of JSON up to which colours are worth their time; longer text is shown plain."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udfff]")
"""Control characters, direction overrides (they can make text read otherwise than it is) and lone surrogates."""


def has_ansi(text: str) -> bool:
    return "\x1b" in text


def plain(text: str) -> str:
    """``text`` without terminal colours; other control characters become visible."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def masked_html(text: str) -> SafeString:
    """Escaped text; what looks like a key is masked and marked."""
    if not may_hold_secret(text):
        return escape(text)
    pieces: list[str] = []
    at = 0
    for found in SECRET.finditer(text):
        pieces.append(escape(text[at : found.start()]))
        note = f"{found[0][:4]}… masked, {len(found[0])} characters"
        pieces.append(f'<em class="masked">{escape(note)}</em>')
        at = found.end()
    pieces.append(escape(text[at:]))
    return mark_safe("".join(pieces))


@lru_cache(maxsize=1)
def _tools() -> tuple[JsonLexer, HtmlFormatter[str]]:
    return JsonLexer(ensurenl=False, stripnl=False), HtmlFormatter(nowrap=True)


def highlighted(text: str) -> SafeString:
    """JSON as spans with Pygments' class names. Pygments escapes; keys are masked before it sees them."""
    safe = masked(plain(text))
    if len(safe) > HIGHLIGHT_LIMIT:
        return escape(safe)
    lexer, formatter = _tools()
    return mark_safe(highlight(safe, lexer, formatter))


def summary_line(text: str, limit: int = 160) -> str:
    """The first words of a text on one line."""
    line = " ".join(plain(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
