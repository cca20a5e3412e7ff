"""What error texts say: the fixed words of each, the rules and faults behind it, and what it means (rules.md 3,
wire-rules).

Patterns are matched against text in which quotes and backticks are gone, white space is single and letters are small,
so that they hold for logs and gateways that quote in their own way.
"""

from __future__ import annotations

import re

from sessions_app.domain.errorwords.anthropic import ANTHROPIC_WORDS
from sessions_app.domain.errorwords.chat import CHAT_WORDS
from sessions_app.domain.errorwords.client import CLIENT_WORDS
from sessions_app.domain.errorwords.entries import Words
from sessions_app.domain.errorwords.others import OTHER_WORDS

TABLE: tuple[Words, ...] = (*ANTHROPIC_WORDS, *CHAT_WORDS, *OTHER_WORDS, *CLIENT_WORDS)

_QUOTES = re.compile(r"[`'\"“”‘’\\]")


def normalised(text: str) -> str:
    """The text as the patterns want it: small letters, single blanks, no quotes and backticks."""
    return " ".join(_QUOTES.sub("", text.replace("\\n", " ").replace("\\u0060", "")).lower().split())
