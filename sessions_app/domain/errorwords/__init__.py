"""What error texts say: the words of every wire rule, from the tables of the protocols, and those of no rule.

Words are looked for in the innermost message first, then around it. Known sentences come first, then a sentence cut
short, then what is said by its sense, then what an HTTP status says, and last the words that say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.protocols.table import About
from sessions_app.domain.protocols.table import Words as Entry

from .envelopes import Said, Words, normalised, said
from .outside import OUTSIDE, STATUSES
from .patterns import compiled
from .senses import SENSES
from .truncated import Sentences
from .unruled import UNRULED

__all__ = ["Known", "Said", "Words", "known_words", "normalised", "read", "said", "vocabulary"]

_LETTERS = "AORGSB"
"""Letters of rule codes, in the order in which rules of the same words are named."""
_WIDE = re.compile(r"(?<!\\)(\.|\]|\\[wSds])([*+])")
_STATUS = re.compile(r"(?:^|http|status|error|code|statuscode|failed)\W{0,3}(?:code\W{0,3})?(\d{3})\b")


@dataclass(frozen=True, slots=True)
class Known:
    """Words that can be read: ``rules`` and ``faults`` are all that say so, ``protocol`` is "" where the text does not
    tell."""

    pattern: str
    protocol: str
    rules: tuple[str, ...]
    faults: tuple[str, ...]
    means: str
    general: bool
    about: About = "history"
    kind: str = ""
    sentences: tuple[str, ...] = ()
    """Plain pieces of what it says, to know one that was cut short."""

    def is_in(self, words: Words) -> bool:
        """The words are there, on one line or across lines."""
        return any(map(compiled(self.pattern).search, words.forms))

    def is_tightly_in(self, words: Words) -> bool:
        """The words are there if no white space counts."""
        return compiled(self.pattern.replace(" ", "")).search(words.tight) is not None


def known(means: str, faults: tuple[str, ...] = (), about: About = "history", kind: str = "") -> Known:
    """What is known without words of its own."""
    return Known("", "", (), faults, means, True, about, kind)


@cache
def known_words() -> tuple[Known, ...]:
    """The words about a request, the more exact first."""
    alike: dict[str, list[tuple[str, str, Entry]]] = {}
    for protocol, code, words in _all_words():
        if words.reads:
            alike.setdefault(words.reads, []).append((protocol, code, words))
    return tuple(_known(pattern, of) for pattern, of in alike.items())


@cache
def vocabulary() -> frozenset[str]:
    """Every word that is looked for, in small letters: what can stay of an error text whose other words are masked."""
    patterns = (words.pattern for words in (*known_words(), *_outside()))
    return frozenset(
        word for pattern in patterns for word in re.findall(r"[a-z]{2,}", re.sub(r"\\.", " ", pattern.lower()))
    )


@cache
def _outside() -> tuple[Known, ...]:
    return tuple(_known(words.reads, [("", "", words)]) for words in OUTSIDE)


def _all_words() -> Iterator[tuple[str, str, Entry]]:
    """Words with the protocol whose they are and the code of their rule ("" = none)."""
    for protocol in REGISTRY.values():
        for code, rule in protocol.rules.items():
            for words in rule.words:
                yield protocol.name if words.speaks is None else words.speaks, code, words
    for words in UNRULED:
        yield words.speaks or "", "", words


def _known(pattern: str, alike: list[tuple[str, str, Entry]]) -> Known:
    """One reading for rules that speak alike."""
    codes = {code for _, code, _ in alike if code}
    faults = tuple(dict.fromkeys(fault for _, _, words in alike for fault in words.faults))
    protocol, _, first = alike[0]
    bounded = _WIDE.sub(lambda found: f"{found[1]}{{{'0' if found[2] == '*' else '1'},200}}", pattern)
    return Known(
        bounded,
        protocol,
        tuple(sorted(codes, key=_order)),
        faults,
        first.means,
        first.general,
        first.about,
        first.kind,
        tuple(_plain_pieces(pattern, [words for _, _, words in alike])),
    )


def _plain_pieces(pattern: str, alike: list[Entry]) -> Iterator[str]:
    for words in alike:
        for text in words.texts.values():
            yield from (normalised(piece) for piece in re.split(r"\{[^}]*\}", text))
    yield from (plain for plain in pattern.split("|") if not re.search(r"[\\()\[\]{}*+?^$]", plain))


def _order(code: str) -> tuple[int, int, str]:
    number = re.search(r"\d+", code)
    return _LETTERS.index(code[0]), int(number[0]) if number else 0, code


# Reading


def read(text: Said) -> tuple[list[Known], bool]:
    """What the text says, the likeliest first; [] where nothing is known. The second is true where its words are only
    there across broken lines."""
    exact = [entry for entry in known_words() if not entry.general]
    general = [entry for entry in known_words() if entry.general]
    outside = [entry for entry in _outside() if not entry.general]
    nothing = [entry for entry in _outside() if entry.general]
    rounds: tuple[tuple[Callable[[Words], list[Known]], bool], ...] = (
        (lambda words: _in(exact, words), False),
        (lambda words: _tightly_in(exact, words), True),
        (
            lambda words: _in(outside, words) or _in(general, words) or _cut_short(words) or _by_sense(words),
            False,
        ),
        (lambda words: _tightly_in([*outside, *general], words) if "\n" in words.text else [], True),
        (_by_status, False),
        (lambda words: _in(nothing, words), False),
    )
    for look, broken in rounds:
        for layer in text.layers:
            if found := look(layer):
                return found, broken or not compiled(found[0].pattern).search(layer.spaced)
    return [], False


def _in(entries: Iterable[Known], words: Words) -> list[Known]:
    return [entry for entry in entries if entry.is_in(words)]


def _tightly_in(entries: Iterable[Known], words: Words) -> list[Known]:
    return [entry for entry in entries if entry.is_tightly_in(words)]


def _by_sense(words: Words) -> list[Known]:
    """What a layer says by its sense; the first that fits."""
    for sense in SENSES:
        if any(sense.is_in(form) for form in words.forms):
            return [known(sense.means, sense.faults)]
    return []


def _by_status(words: Words) -> list[Known]:
    numbers = {found[1] for found in _STATUS.finditer(words.spaced)}
    return [known(entry.means, (), "not-history", entry.kind) for number, entry in STATUSES if number in numbers][:1]


@cache
def _sentences() -> Sentences:
    return Sentences(
        (number, sentence)
        for number, entry in enumerate(known_words())
        if not entry.general
        for sentence in entry.sentences
    )


def _cut_short(words: Words) -> list[Known]:
    lines = (normalised(line) for line in words.text[:16_384].splitlines()[:200])
    return [known_words()[number] for number in _sentences().cut_short_in(words.spaced, lines)]
