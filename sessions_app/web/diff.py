"""Before and after, line by line: what goes is left, what comes is right; words that differ inside a line are
marked."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from sessions_app.domain.model import Row
from sessions_app.domain.patience import paced
from sessions_app.domain.repair import RowChange

from .text import masked, plain

CONTEXT = 2
LINES = 400
"""Lines of one diff that are shown."""
OPENED = 40
"""Lines of a gap that are shown when it is opened."""
LINE_CHARACTERS = 2_000
WORDS = re.compile(r"\w+|\s+|[^\w\s]")
WORD_LIMIT = 600
"""Characters of a line up to which its words are compared."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a two-column diff; ``kind`` is same, removed, added, changed or gap. In a ``Diff``, ``left`` and
    ``right`` are escaped."""

    kind: str
    left: str = ""
    right: str = ""
    gap: int = 0
    inside: tuple[Line, ...] = ()
    """The first lines of a gap, which can be opened."""

    @property
    def unseen(self) -> int:
        """Lines of a gap that are not shown when it is opened."""
        return self.gap - len(self.inside)

    @property
    def size(self) -> int:
        return 200 + len(self.left) + len(self.right) + sum(line.size for line in self.inside)

    @property
    def goes(self) -> bool:
        """The left side is not on the right."""
        return self.kind in ("removed", "changed")

    @property
    def comes(self) -> bool:
        return self.kind in ("added", "changed")

    @property
    def left_css(self) -> str:
        return "removed" if self.goes else ""

    @property
    def right_css(self) -> str:
        return "added" if self.comes else "same-after" if self.kind == "same" else ""


@dataclass(frozen=True, slots=True)
class Diff:
    title: str
    what: str
    lines: tuple[Line, ...]
    cut: int
    """Lines left out at the end."""
    heads: tuple[str, str] = ("Before", "After")

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return 1_000 + sum(line.size for line in self.lines)


def text_diff(title: str, what: str, before: list[str], after: list[str]) -> Diff:
    return _diff(title, what, _lines(before, after))


def side_by_side(title: str, first: tuple[str, Any], second: tuple[str, Any]) -> Diff:
    """Two values with their names, as JSON."""
    (left, one), (right, other) = first, second
    lines = _lines(_json(one).split("\n"), _json(other).split("\n"))
    return replace(_diff(title, "changed", lines), heads=(left, right))


def block_diff(title: str, what: str, before: list[str], after: list[str]) -> Diff:
    """A diff of long texts that stays quick: whole blocks (a message, a row) are compared first, lines only where
    blocks differ."""
    return _diff(title, what, _block_lines(before, after))


def _diff(title: str, what: str, lines: Iterator[Line]) -> Diff:
    """The first of these lines made ready to be shown; the others are counted."""
    shown = tuple(_shown(line) for line in islice(lines, LINES))
    return Diff(title, what, shown, sum(1 for _ in lines))


def _shown(line: Line) -> Line:
    """A line of plain texts, cleaned and escaped, with what differs marked."""
    if line.kind == "gap":
        return replace(line, inside=tuple(map(_shown, line.inside)))
    left, right = _clean(line.left), _clean(line.right)
    if line.kind == "changed":
        return Line(line.kind, *_words(left, right))
    return Line(line.kind, SafeString(escape(left)), SafeString(escape(right)))


type Step = tuple[str, int, int, int, int]
"""As ``difflib`` has it: what is done, and to which of the old and the new."""


def _block_lines(before: list[str], after: list[str]) -> Iterator[Line]:
    steps = _steps(before, after)
    if len(steps) == 1 and steps[0][0] == "equal":
        return
    for number, (kind, a1, a2, b1, b2) in enumerate(paced(steps)):
        gone = [line for block in before[a1:a2] for line in block.split("\n")]
        if kind == "equal":
            yield from _unchanged(gone, CONTEXT if number else 0, CONTEXT if number < len(steps) - 1 else 0)
        else:
            yield from _lines(gone, [line for block in after[b1:b2] for line in block.split("\n")])


def _steps(old: list[str], new: list[str]) -> list[Step]:
    """What makes the new out of the old. What stands once in both, in the same order, stays; only what lies between
    two of those is compared, so that it takes no longer where much is changed."""
    single = _single(new)
    anchors = [(a, single[text]) for text, a in sorted(_single(old).items(), key=itemgetter(1)) if text in single]
    steps: list[Step] = []
    i = j = 0
    for a, b in (*anchors, (len(old), len(new))):
        if b < j:
            continue  # it was moved
        matcher = difflib.SequenceMatcher(None, old[i:a], new[j:b])
        found = [(kind, i + a1, i + a2, j + b1, j + b2) for kind, a1, a2, b1, b2 in matcher.get_opcodes()]
        for step in (*found, ("equal", a, min(a + 1, len(old)), b, min(b + 1, len(new)))):
            _append(steps, step)
        i, j = a + 1, b + 1
    return steps


def _single(texts: list[str]) -> dict[str, int]:
    """Where the texts stand that are there once."""
    count = Counter(texts)
    return {text: place for place, text in enumerate(texts) if count[text] == 1}


def _append(steps: list[Step], step: Step) -> None:
    """One more step, as a part of the last one where that does the same."""
    kind, a1, a2, b1, b2 = step
    if a1 == a2 and b1 == b2:
        return
    if steps and steps[-1][0] == kind:
        _, a1, _, b1, _ = steps.pop()
    steps.append((kind, a1, a2, b1, b2))


def _unchanged(lines: list[str], head: int, tail: int) -> Iterator[Line]:
    """The first and last of lines that are the same on both sides."""
    left_out = len(lines) - head - tail
    kept = lines if left_out <= 0 else lines[:head]
    yield from (_same(line) for line in kept)
    if left_out > 0:
        yield _gap(lines[head : head + left_out])
        yield from (_same(line) for line in lines[len(lines) - tail :])


def _gap(lines: list[str]) -> Line:
    return Line("gap", gap=len(lines), inside=tuple(map(_same, lines[:OPENED])))


def _same(line: str) -> Line:
    return Line("same", line, line)


def row_change_diff(change: RowChange, place: str = "") -> Diff:
    """One stored row, laid out a column a line with its JSON opened; ``place`` says where it is."""
    key = " ".join(str(value) for value in change.key.values())
    what = "removed" if change.after is None else "added" if change.before is None else "changed"
    return text_diff(place or f"{change.table} {key}", what, row_lines(change.before), row_lines(change.after))


def row_lines(row: Row | None) -> list[str]:
    if row is None:
        return []
    lines: list[str] = []
    for column, value in row.items():
        shown = value
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                shown = json.loads(value)
            except (ValueError, RecursionError):
                shown = value
        lines += f"{column}: {_json(shown)}".split("\n")
    return lines


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=repr)


def _clean(line: str) -> str:
    line = masked(plain(line))
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}… ({len(line):,} characters)"


def _lines(before: list[str], after: list[str]) -> Iterator[Line]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 2_000)
    for group in _groups(matcher, len(before)):
        for kind, a1, a2, b1, b2 in group:
            if kind == "gap":
                yield _gap(before[a1:a2])
            elif kind == "equal":
                yield from (_same(line) for line in before[a1:a2])
            else:
                yield from _replaced(before[a1:a2], after[b1:b2])


def _groups(matcher: difflib.SequenceMatcher[str], length: int) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Blocks of change with a little around them; what is left out between is a gap."""
    end = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        start = group[0][1]
        if start > end:
            yield [("gap", end, start, 0, 0)]
        yield [(tag, a1, a2, b1, b2) for tag, a1, a2, b1, b2 in group]
        end = group[-1][2]
    if end and length > end:
        yield [("gap", end, length, 0, 0)]


def _replaced(gone: list[str], come: list[str]) -> Iterator[Line]:
    for left, right in paced(zip(gone, come, strict=False)):
        yield Line("changed", left, right)
    paired = min(len(gone), len(come))
    for line in gone[paired:]:
        yield Line("removed", left=line)
    for line in come[paired:]:
        yield Line("added", right=line)


def _words(left: str, right: str) -> tuple[SafeString, SafeString]:
    """Both lines with <del> and <ins> around the words that differ."""
    if len(left) + len(right) > WORD_LIMIT:
        return SafeString(escape(left)), SafeString(escape(right))
    old, new = WORDS.findall(left), WORDS.findall(right)
    was: list[str] = []
    now: list[str] = []
    for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = escape("".join(old[a1:a2])), escape("".join(new[b1:b2]))
        was.append(gone if tag == "equal" or not gone else f"<del>{gone}</del>")
        now.append(come if tag == "equal" or not come else f"<ins>{come}</ins>")
    return mark_safe("".join(was)), mark_safe("".join(now))
