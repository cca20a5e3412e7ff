"""Sentences that a screen or a log cut short: the text ends where a known sentence goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LEAST = 18
"""Characters of a sentence that must be there to know it."""
_TAIL = 300


class Sentences:
    """Known sentences, by how they begin."""

    def __init__(self, sentences: Iterable[tuple[int, str]]) -> None:
        self._by_start: dict[str, list[tuple[int, str]]] = {}
        for number, sentence in sentences:
            sentence = sentence.strip(" :.,;")
            if len(sentence) >= LEAST:
                self._by_start.setdefault(sentence[:LEAST], []).append((number, sentence))

    def cut_short_in(self, text: str, lines: Iterable[str]) -> list[int]:
        """The numbers of the sentences that the text, or a line of it, breaks off within; those of the longest
        piece."""
        found: dict[int, int] = {}
        for ending in (text, *lines):
            for length, number in self._cut(ending[-_TAIL:].rstrip(" .…\"'}])|")):
                found[number] = max(found.get(number, 0), length)
        longest = max(found.values(), default=0)
        return [number for number, length in found.items() if length == longest]

    def _cut(self, ending: str) -> Iterator[tuple[int, int]]:
        for at in range(len(ending) - LEAST + 1):
            rest = ending[at:]
            for number, sentence in self._by_start.get(rest[:LEAST], ()):
                if sentence.startswith(rest):
                    yield len(rest), number
