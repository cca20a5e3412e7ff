"""The texts of a session that are searched, in blocks, and the words that lead to them.

A database keeps the blocks and an index of their words (``services/indexing``); what a search finds by words it then
looks for in the block's own text, so that the words only have to lose nothing.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from sessions_app.domain import values
from sessions_app.domain.model import Message, Part, Session, StepFinishPart, StepStartPart, ToolPart

SILENT_KEYS: Final = frozenset(
    {
        *("type", "status", "id", "url", "uri", "data", "signature", "encryptedContent", "reasoningEncryptedContent"),
        *("snapshot", "hash"),
    }
)
"""JSON members that hold no words of a conversation."""
TEXT: Final = 100_000
"""Characters of one text that are searched."""
HEAD: Final = 500
"""Characters of each text of a tool call: its arguments, output and error."""
CALL: Final = 2_000
"""Characters of a tool call in all."""
_BLOCK: Final = 24_000
"""Characters at which a block is full."""
_LONGEST: Final = 64
"""Characters of a word that tell it from others."""
_STRING: Final = "\x1f"
"""Between the strings of a piece: no phrase goes across."""

_SPACES: Final = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
WORD: Final = re.compile(r"[^\W_]+")
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS: Final = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
"""Scripts that put nothing between words, Korean with its endings among them, and all others."""
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_HUMP: Final = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word within a name like ``parseConfigFile`` begins."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Texts of one place: ``at`` is the stored id of a part or message as columns keep it, "" the session itself;
    ``turn`` counts from 1, 0 = none."""

    at: str
    turn: int
    texts: tuple[str, ...]


def search_blocks(session: Session) -> list[bytes]:
    """What is kept to search a session, some pages of text each (``block_pieces`` reads them)."""
    blocks: list[bytes] = []
    held: list[tuple[str, int, str]] = []
    size = 0
    for piece in _pieces(session):
        text = _STRING.join(text for text in piece.texts if text)
        if not text:
            continue
        held.append((piece.at, piece.turn, values.shown(text)))
        size += len(text)
        if size >= _BLOCK:
            blocks.append(_packed(held))
            held, size = [], 0
    if held:
        blocks.append(_packed(held))
    return blocks


def block_pieces(block: bytes) -> list[Piece]:
    """What ``search_blocks`` put into a block."""
    held = msgspec.json.decode(zlib.decompress(block))
    return [Piece(at, turn, tuple(text.split(_STRING))) for at, turn, text in held]


def block_words(block: bytes) -> set[str]:
    """All words of a block."""
    return words_of(text for piece in block_pieces(block) for text in piece.texts)


def words_of(texts: Iterable[str]) -> set[str]:
    """What leads to these texts, in lower case: each word from its beginning, and names from each of their humps; of
    scripts without spaces each two characters that follow one another."""
    words = set("\n".join(texts).encode("utf-8", "replace").translate(_SPACES).decode().split())  # faster than WORD
    found: set[str] = set()
    for word in words:
        if not word.isascii():
            found.update(_foreign(word))
            continue
        lower = word.lower()
        found.add(lower[:_LONGEST])
        if lower != word and _HUMP.search(word) and word.isalpha():
            found.update(lower[hump.start() :][:_LONGEST] for hump in _HUMP.finditer(word))
    return found


def _foreign(text: str) -> Iterator[str]:
    for run in (run for word in WORD.findall(text) for run in _RUNS.findall(word)):
        if _is_unspaced(run):
            yield from (run[at : at + 2] for at in range(len(run)))
        else:
            yield run.lower()[:_LONGEST]


def words_asked(words: Iterable[str], *, prefix: bool) -> list[tuple[str, bool]]:
    """The words that a block has which holds these one after another, each with whether it is only the beginning of
    one; ``prefix``: the last one is."""
    runs = [run for word in words for run in _RUNS.findall(word)]
    asked: list[tuple[str, bool]] = []
    for number, run in enumerate(runs, 1):
        if _is_unspaced(run):
            pairs = [run[at : at + 2] for at in range(len(run) - 1)]
            asked += [(pair, False) for pair in pairs] or [(run, True)]
        else:
            asked.append((run.lower()[:_LONGEST], prefix and number == len(runs) and len(run) < _LONGEST))
    return asked


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _IS_UNSPACED.match(run) is not None


def _packed(held: list[tuple[str, int, str]]) -> bytes:
    return zlib.compress(msgspec.json.encode(held), 3)


def _pieces(session: Session) -> Iterator[Piece]:
    row = session.rows.session
    yield Piece("", 0, tuple(_cut((row.get(name) for name in ("title", "directory", "id", "slug")), TEXT, TEXT)))
    for history in session.histories.values():
        turn = 0
        for message in history:
            if _begins(message) or not turn:
                turn += 1
            yield Piece(values.key(message.id), turn, tuple(_said(message)))
            spoken = (part for part in message.parts if not isinstance(part, (StepStartPart, StepFinishPart)))
            yield from (_piece(part, turn) for part in spoken)
    yield from (_piece(part, 0) for part in session.orphans)


def _begins(message: Message) -> bool:
    """A prompt begins a turn, unless the client alone wrote it."""
    if not message.is_user or not message.parts:
        return message.is_user
    words = [part for part in message.parts if part.kind == "text"]
    given = any(part.kind in ("file", "subtask", "agent") for part in message.parts)
    return given or any(not getattr(part, "synthetic", False) for part in words)


def _said(message: Message) -> Iterator[str]:
    """A message's own texts: all that a row holds beside its parts, else its error."""
    if message.fault is not None:
        return _cut((message.raw,), CALL, CALL)
    if message.generation:
        own = {name: item for name, item in message.data.items() if name != "content" or not message.parts}
        return _cut(strings(own), TEXT, TEXT)
    return _cut(strings(message.error), TEXT, TEXT)


def _piece(part: Part, turn: int) -> Piece:
    at = values.key(part.id)
    if part.fault is not None or not part.data:
        return Piece(at, turn, tuple(_cut((part.raw,), CALL, CALL)))
    if isinstance(part, ToolPart):
        return Piece(at, turn, tuple(dict.fromkeys(_cut(strings(part.data), HEAD, CALL))))
    return Piece(at, turn, tuple(_cut(strings(part.data), TEXT, TEXT)))


def _cut(texts: Iterable[Any], each: int, all_of_them: int) -> Iterator[str]:
    left = all_of_them
    for text in texts:
        if isinstance(text, str) and left > 0:
            yield text[: min(each, left)].replace(_STRING, " ")
            left -= min(each, left, len(text))


def strings(value: Any) -> Iterator[str]:
    """The texts of a JSON value in stored order, but those of silent members."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(held for key, held in reversed(item.items()) if key not in SILENT_KEYS)
        elif isinstance(item, list):
            stack.extend(reversed(item))
