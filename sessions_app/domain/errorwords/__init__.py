"""What error texts say: the words of every wire rule, from the tables of the protocols, and those of no rule.

Patterns are matched against text in which quotes and backticks are gone, white space is single and letters are small,
so that they hold for logs and gateways that quote in their own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sessions_app.domain.errorwords.unruled import UNRULED
from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.protocols.table import Words

_QUOTES = re.compile(r"[`'\"“”‘’\\]")
_LETTERS = "AORGSB"
"""Letters of rule codes, in the order in which rules of the same words are named."""


@dataclass(frozen=True, slots=True)
class Known:
    """Words that can be read: ``rules`` and ``faults`` are all that say so, ``protocol`` is "" where the text does not
    tell."""

    pattern: re.Pattern[str]
    protocol: str
    rules: tuple[str, ...]
    faults: tuple[str, ...]
    means: str
    general: bool


def normalised(text: str) -> str:
    """The text as the patterns want it: small letters, single blanks, no quotes and backticks."""
    return " ".join(_QUOTES.sub("", text.replace("\\n", " ").replace("\\u0060", "")).lower().split())


@cache
def known_words() -> tuple[Known, ...]:
    """Everything that can be read, the more exact first."""
    alike: dict[str, list[tuple[str, str, Words]]] = {}
    for protocol, code, words in _all_words():
        if words.reads:
            alike.setdefault(words.reads, []).append((protocol, code, words))
    return tuple(_known(pattern, said) for pattern, said in alike.items())


def _all_words() -> Iterator[tuple[str, str, Words]]:
    """Words with the protocol whose they are and the code of their rule ("" = none)."""
    for protocol in REGISTRY.values():
        for code, rule in protocol.rules.items():
            for words in rule.words:
                yield protocol.name if words.speaks is None else words.speaks, code, words
    for words in UNRULED:
        yield words.speaks or "", "", words


def _known(pattern: str, said: list[tuple[str, str, Words]]) -> Known:
    """One reading for rules that speak alike."""
    codes = {code for _, code, _ in said if code}
    faults = dict.fromkeys(fault for _, _, words in said for fault in words.faults)
    protocol, _, first = said[0]
    return Known(
        re.compile(pattern), protocol, tuple(sorted(codes, key=_order)), tuple(faults), first.means, first.general
    )


def _order(code: str) -> tuple[int, int, str]:
    number = re.search(r"\d+", code)
    return _LETTERS.index(code[0]), int(number[0]) if number else 0, code
