"""Reading a long JSON document: entries of which those that are asked for are open, a search through all of them, and
the pointer of every place. The payload tab and the raw tab are both read so.

Everything is in the address: ``message`` opens an entry, ``at`` shows the place of a pointer (or an entry by its
number), ``find`` and ``match`` a place that was searched, ``lines=all`` what is longer than a reader wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from django.http import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString

from sessions_app.domain.patience import paced
from sessions_app.domain.wire.verdict import Violation

from .addresses import address
from .http import HtmxRequest, page_number, wants_partial, whole
from .jsonlines import JsonLine, json_lines, legible, line_html
from .pager import Pager, step_pager

PER_PAGE = 50
OPEN_CHARACTERS = 8_000
"""Entries with something to look at are open up to this size; others are fetched when opened."""
OPENED = 5
"""Entries of a page that are open before somebody opens them."""
LINES = 1_000
"""Lines of one piece that are shown until all are asked for."""
ALL_LINES = 20_000
HITS = 200
REST = -1
"""The number of what stands beside the entries."""
NAMES = ("page", "message", "at", "find", "match", "lines")
"""Parameters of an address that say what is read."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A JSON value of an entry. ``pointer`` is where it stands in the document; ``at`` the stored message or part that
    it comes from ("" = none), ``title`` what it is called where an entry has several."""

    pointer: str
    value: Any
    at: str = ""
    title: str = ""
    plain: bool = False
    """``value`` is a text that is no JSON."""


@dataclass(frozen=True, slots=True)
class Head:
    """The line of an entry."""

    name: str
    role: str
    kinds: str = ""
    size: int = 0
    violations: tuple[Violation, ...] = ()


class Document(Protocol):
    """What is read. Entries are numbered from 0; ``REST`` is what stands beside them."""

    noun: str
    """What an entry is called."""
    rest: str
    """What the rest is called, "" = there is none."""
    first: int
    """The entry at which it is opened."""

    def __len__(self) -> int: ...

    def heads(self, start: int, count: int) -> list[Head]:
        """The lines of some entries."""

    def pieces(self, index: int) -> list[Piece]:
        """What an entry, or the rest, holds."""

    def holding(self, words: list[str]) -> Iterable[int]:
        """Entries, in order, in whose text all of these may stand (lower case); the rest first."""

    def entry_of(self, pointer: str) -> int | None:
        """The entry that a pointer leads into; None: it leads nowhere."""

    def origin(self, pointer: str) -> str:
        """The stored message or part that a place comes from, "" = none."""


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    pointer: str
    html: SafeString
    here: bool
    """The place that was asked for."""
    left_out: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece, open."""

    title: str
    at: str
    lines: tuple[Line, ...]
    more: str
    """Where all lines are shown, "" = these are all."""


@dataclass(frozen=True, slots=True)
class Entry:
    index: int
    head: Head
    url: str
    """Where it is fetched, and shown open without script."""
    open: bool
    shown: tuple[Shown, ...] = ()
    """Its pieces; () = they are fetched when it is opened."""

    @property
    def place(self) -> str:
        """The id of its element."""
        return _place(self.index)

    @property
    def here(self) -> bool:
        """The place that was asked for is in it."""
        return any(line.here for piece in self.shown for line in piece.lines)


@dataclass(frozen=True, slots=True)
class Hit:
    entry: int
    pointer: str


@dataclass(frozen=True, slots=True)
class Search:
    """Places that hold ``text``, and which of them is shown (from 1)."""

    text: str = ""
    hits: tuple[Hit, ...] = ()
    number: int = 0
    previous: str = ""
    next: str = ""
    clear: str = ""

    @property
    def full(self) -> bool:
        """There may be more places."""
        return len(self.hits) >= HITS


@dataclass(frozen=True, slots=True)
class Place:
    pointer: str
    origin: str
    """The stored message or part that it comes from."""
    lost: bool
    """Nothing stands there."""


@dataclass(frozen=True, slots=True)
class Reader:
    noun: str
    total: int
    entries: tuple[Entry, ...]
    rest: Entry | None
    pager: Pager | None
    search: Search
    place: Place | None
    """That is shown; None: none was asked for."""
    asked: tuple[tuple[str, str], ...]
    """The other parameters of the page's address, for forms."""
    session_id: int


@dataclass(slots=True)
class _Asked:
    """What the address asks for."""

    document: Document
    kept: Mapping[str, str]
    entry: int | None = None
    pointer: str = ""
    search: Search = field(default_factory=Search)
    whole: bool = False

    @property
    def wanted(self) -> str:
        return self.search.text.lower()

    def url(self, place: str, **pairs: object) -> str:
        return f"{address({**self.kept, **pairs})}#{place}"


def reader(request: HtmxRequest, document: Document, kept: Mapping[str, str], session_id: int) -> Reader:
    """The page of the document that the address asks for. ``kept`` are the parameters of the page around it."""
    asked = _asked(request, document, kept)
    pages = max(1, -(-len(document) // PER_PAGE))
    number = page_number(request.GET)
    if asked.entry is not None and asked.entry >= 0:
        number = asked.entry // PER_PAGE + 1
    elif "page" not in request.GET:
        number = document.first // PER_PAGE + 1
    start = (number - 1) * PER_PAGE
    base = address({**kept, "find": asked.search.text}).removeprefix("?")
    entries = _entries(asked, start)
    rest = _entry(asked, REST, Head("", document.rest), asked.entry == REST) if document.rest else None
    return Reader(
        noun=document.noun,
        total=len(document),
        entries=entries,
        rest=rest,
        pager=step_pager(number, pages, base, label=f"Pages of {document.noun}"),
        search=asked.search,
        place=_where(asked, [*entries, *([rest] if rest else [])]) if asked.pointer else None,
        asked=tuple(kept.items()),
        session_id=session_id,
    )


def _where(asked: _Asked, entries: list[Entry]) -> Place:
    lost = not any(entry.here for entry in entries)
    return Place(asked.pointer, "" if lost else asked.document.origin(asked.pointer), lost)


def answer(
    request: HtmxRequest, document: Document, kept: Mapping[str, str], session_id: int
) -> HttpResponseBase | None:
    """What htmx asks for: one entry that was opened, or the reader with another place. None: the whole page is asked
    for."""
    if not request.htmx or request.htmx.history_restore_request:
        return None
    if wants_partial(request, "reader"):
        context: dict[str, Any] = {"reader": reader(request, document, kept, session_id)}
        response = render(request, "reader/reader.html", context)
    elif "message" in request.GET:
        asked = _asked(request, document, kept, searching=False)
        if asked.entry is None:
            return render(request, "reader/gone.html", status=404)
        entry = _entry(asked, asked.entry, Head("", ""), True)
        response = render(request, "reader/pieces.html", {"entry": entry, "session_id": session_id})
    else:
        return None
    patch_vary_headers(response, ["HX-Request"])
    return response


def _asked(request: HtmxRequest, document: Document, kept: Mapping[str, str], searching: bool = True) -> _Asked:
    asked = _Asked(document, kept, whole=request.GET.get("lines") == "all")
    asked.pointer = request.GET.get("at", "").strip()[:2000]
    message = whole(request.GET.get("message"))
    asked.entry = message if message is not None and message < len(document) else None
    number = whole(asked.pointer)
    if number is not None and number < len(document):
        asked.pointer = document.pieces(number)[0].pointer
    if asked.pointer:
        asked.entry = document.entry_of(asked.pointer)
    text = request.GET.get("find", "").strip()[:200]
    asked.search = Search(text)
    if text and searching:
        _search(asked, text, None if message is not None or asked.pointer else whole(request.GET.get("match")) or 1)
    return asked


def _search(asked: _Asked, text: str, number: int | None) -> None:
    hits = tuple(islice(_hits(asked.document, text.lower()), HITS))
    at = min(number, len(hits)) if number and hits else 0

    def match(to: int) -> str:
        return asked.url("place", find=text, match=to) if 1 <= to <= len(hits) else ""

    asked.search = Search(text, hits, at, match(at - 1), match(at + 1), asked.url("reader"))
    if at:
        asked.entry, asked.pointer = hits[at - 1].entry, hits[at - 1].pointer


def _hits(document: Document, wanted: str) -> Iterator[Hit]:
    # What is stored may have other white space and write other signs than ASCII as escapes.
    words = wanted.split() if wanted.isascii() else []
    for index in paced(document.holding(words)):
        for piece in document.pieces(index):
            seen = ""
            for line in _lines(piece, wanted):
                if line.pointer != seen and wanted in legible(line.text).lower():
                    seen = line.pointer
                    yield Hit(index, line.pointer)


def _lines(piece: Piece, wanted: str) -> Iterator[JsonLine]:
    if piece.plain:
        return (JsonLine(piece.pointer, text) for text in str(piece.value).split("\n"))
    return json_lines(piece.value, piece.pointer, wanted)


def _entries(asked: _Asked, start: int) -> tuple[Entry, ...]:
    entries, opened = [], 0
    for index, head in enumerate(asked.document.heads(start, PER_PAGE), start):
        wanted = index == asked.entry
        opens = wanted or (bool(head.violations) and head.size <= OPEN_CHARACTERS and opened < OPENED)
        opened += opens
        entries.append(_entry(asked, index, head, opens))
    return tuple(entries)


def _entry(asked: _Asked, index: int, head: Head, opens: bool) -> Entry:
    url = asked.url(_place(index), find=asked.search.text, message=index)
    shown = tuple(_shown(asked, index, piece) for piece in asked.document.pieces(index)) if opens or index < 0 else ()
    return Entry(index, head, url, opens, shown)


def _place(index: int) -> str:
    return "rest" if index < 0 else f"message-{index}"


def _shown(asked: _Asked, index: int, piece: Piece) -> Shown:
    """At most ``LINES`` lines, and the place that was asked for where it is behind them."""
    lines, found = [], False
    every = enumerate(_lines(piece, asked.wanted), 1)
    most = ALL_LINES if asked.whole else LINES
    more = ""
    for number, line in every:
        here = not found and bool(asked.pointer) and line.pointer == asked.pointer
        if number > most and (found or not asked.pointer.startswith(piece.pointer)):
            message = index if index >= 0 else None
            more = asked.url(_place(index), find=asked.search.text, message=message, lines="all")
            break
        found = found or here
        if number <= most or here:
            html = line_html(legible(line.text), asked.wanted, coloured=not piece.plain)
            lines.append(Line(number, line.pointer, html, here, line.left_out))
    return Shown(piece.title, piece.at, tuple(lines), more)
