"""What is searched for in conversations, out of what somebody typed; and where a text holds it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q

from sessions_app.domain.searchtext import WORD, words_asked
from sessions_app.domain.secrets import SECRET

_TERM = re.compile(r'"([^"]*)("|$)|([^\s"]+)')
_AROUND = 70
_KEY = 4_000
"""Characters beside a place that are looked at for a key that would be cut in two."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that holds what is searched for: ``at`` is the part, else the message, "" the session itself; the text
    around it in three pieces."""

    at: str
    before: str
    found: str
    after: str
    turn: int = 0
    position: int = 0


@dataclass(frozen=True, slots=True)
class Term:
    """A phrase: its words one after another, whatever stands between them. ``open``: its last word may go on."""

    text: str
    open: bool

    @property
    def words(self) -> list[str]:
        return WORD.findall(self.text)

    @property
    def pattern(self) -> str:
        return r"[\W_]+".join(map(re.escape, self.words)) or re.escape(self.text)


class Phrase:
    """What is typed: words, and phrases between double quotes, all of which one place must hold. Case is all the same.
    The last word may go on, and each that ends with ``*``; a phrase that is not closed is still being typed. Nothing
    is a mistake."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        found = list(_TERM.finditer(self.text))
        terms = [
            Term(one[1], not one[2])
            if one[1] is not None
            else Term(one[3].rstrip("*") or one[3], one[3].endswith("*") or one is found[-1])
            for one in found
        ]
        self.terms: Sequence[Term] = [term for term in terms if term.text.strip()]

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def asked(self) -> dict[str, bool]:
        """The words of the index that must be there, each with whether it is only a beginning; {} where nothing that is
        searched for is a word."""
        return {word: prefix for term in self.terms for word, prefix in words_asked(term.words, prefix=term.open)}

    @cached_property
    def _words(self) -> list[str]:
        return [word.lower() for term in self.terms for word in term.words]

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """All of it in a row, then each term."""
        each = [term.pattern for term in self.terms]
        row = r"[\W_]+".join(each) if all(term.words for term in self.terms) else r"\s+".join(each)
        return [re.compile(pattern, re.IGNORECASE) for pattern in (row, *each)]

    def held(self, name: str) -> Q:
        """Rows that can hold it: each word somewhere in the stored JSON. What stands between words may be escaped
        there."""
        condition = Q()
        for term in self.terms:
            for word in term.words or (json.dumps(term.text, ensure_ascii=False)[1:-1],):
                condition &= Q(**{f"{name}__icontains": word})
        return condition | Q(encoding="json")

    def hit(self, at: str, texts: Iterable[str], turn: int = 0) -> Hit | None:
        """The first place in these texts where all stands in a row, else that of the first term; None where one is
        missing."""
        texts = tuple(texts)
        lower = " ".join(texts).lower()
        if not all(word in lower for word in self._words):  # ten times as fast as a pattern, and nearly always enough
            return None
        row, *each = self._patterns
        if not all(any(pattern.search(text) for text in texts) for pattern in each):
            return None
        for pattern in (row, each[0]):
            for text in texts:
                if found := pattern.search(text):
                    return _hit(at, text, found.start(), found.end(), turn)
        return None


def _hit(at: str, text: str, start: int, end: int, turn: int) -> Hit:
    """The words around a place. What looks like a key is never cut, or the half of it would not be known for one."""
    left, right = max(0, start - _AROUND), min(len(text), end + _AROUND)
    near = max(0, left - _KEY)
    for key in SECRET.finditer(text, near, right + _KEY):
        if key.start() < end and start < key.end():
            start, end = min(start, key.start()), max(end, key.end())
        elif key.start() < left < key.end():
            left = key.end()
        elif key.start() < right < key.end():
            right = key.start()
    left, right = min(left, start), max(right, end)
    return Hit(
        at,
        ("…" if left else "") + text[left:start],
        text[start:end],
        text[end:right] + ("…" if right < len(text) else ""),
        turn,
    )
