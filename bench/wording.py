"""Texts of made-up sessions: prose, code and output of commands in a vocabulary as skewed as a real one."""

from __future__ import annotations

import random
from functools import lru_cache

_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"
_FOREIGN = ("naïve", "café", "—", "всё", "зелёное", "日本語", "✓", "→", "🙂")
_SHAPES = (
    "{n}: def {a}_{b}({c}: str, {d}: int = {n}) -> dict[str, {e}]:",
    '{n}:     return {{"{a}": {b}.{c}, "{d}": "{e}"}}',
    "src/{a}/{b}.py:{n}:{n}: {c} {d} is not {e}",
    "-rw-r--r-- 1 dev dev {n} Oct 12 10:{n} {a}_{b}.{c}",
    "    {a} {b} {c} {d} {e} {a} {c}",
    "[{n}/{n}] {a}: {b} {c} in {n}.{n} s",
    '+\tif ({a} === "{b}") {{ {c}.{d}("\\\\n", {n}); }}',
    "{a} {b} {c} {d} {e} {b} {d} {a} {e} {c}",
)
POOL = 4_000_000
"""Characters of output that all sessions cut theirs from."""


class Wording:
    """One is enough for all sessions of a store: each draws with dice of its own."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.words = [_word(dice) for _ in range(20_000)]
        self._pool = self._lines(dice)

    def word(self, dice: random.Random) -> str:
        """Few words are common and most are rare."""
        return self.words[int(len(self.words) ** dice.random()) - 1]

    def prose(self, dice: random.Random, count: int) -> str:
        words = [self.word(dice) for _ in range(count)]
        if dice.random() < 0.1:
            words[dice.randrange(count)] = dice.choice(_FOREIGN)
        return (" ".join(words)).capitalize() + "."

    def output(self, dice: random.Random, size: int) -> str:
        """``size`` characters, cut anywhere; longer than the pool it repeats."""
        start = dice.randrange(POOL)
        text = self._pool[start : start + size]
        while len(text) < size:
            text += self._pool[: size - len(text)]
        return text

    def _lines(self, dice: random.Random) -> str:
        lines: list[str] = []
        size = 0
        while size < POOL:
            words = {name: self.word(dice) for name in "abcde"}
            line = dice.choice(_SHAPES).format(n=dice.randrange(1, 2_000), **words)
            if dice.random() < 0.02:
                line += " " + dice.choice(_FOREIGN)
            lines.append(line)
            size += len(line) + 1
        return "\n".join(lines)[:POOL]


@lru_cache(maxsize=2)
def wording(seed: int) -> Wording:
    return Wording(seed)


def _word(dice: random.Random) -> str:
    return "".join(dice.choice(_CONSONANTS) + dice.choice(_VOWELS) for _ in range(dice.randint(1, 4)))
