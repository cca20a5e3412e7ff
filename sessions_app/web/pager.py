"""Pages of a list as links: numbered, or only the one before and the one after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from django.core.paginator import Paginator


class Paged(Protocol):
    """A page of rows as selectors give it."""

    @property
    def number(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def past(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class PageLink:
    """``url`` is "" for a gap; ``hidden`` is what is said before the word, and not shown."""

    word: str
    url: str = ""
    current: bool = False
    rel: str = ""
    key: str = ""
    hidden: str = ""


@dataclass(frozen=True, slots=True)
class Pager:
    words: str
    links: tuple[PageLink, ...] = ()
    label: str = "Pages"
    css: str = ""


def numbered_pager(page: Paged, base: str = "") -> Pager:
    """``base`` is the query string without its page."""
    if page.past:
        return _past(page.number, page.pages, base)
    words = f"{page.first:,}–{page.last:,} of {page.total:,}" if page.total else ""
    if page.pages <= 1:
        return Pager(words)
    links = [PageLink("Previous", _url(base, page.number - 1), rel="prev", key="[")] if page.number > 1 else []
    for number in Paginator(range(page.pages), 1).get_elided_page_range(page.number, on_each_side=1, on_ends=2):
        if isinstance(number, int):
            links.append(PageLink(str(number), _url(base, number), number == page.number, hidden="Page "))
        else:
            links.append(PageLink(str(number)))
    if page.number < page.pages:
        links.append(PageLink("Next", _url(base, page.number + 1), rel="next", key="]"))
    return Pager(words, tuple(links))


def step_pager(number: int, pages: int, base: str = "", *, label: str = "Pages", css: str = "") -> Pager | None:
    """The pages beside this one; None where there is only one."""
    if number > pages:
        return _past(number, pages, base, label=label, css=css)
    if pages <= 1:
        return None
    steps = (("Previous", number - 1), ("Next", number + 1))
    links = tuple(PageLink(word, _url(base, to)) for word, to in steps if 1 <= to <= pages)
    return Pager(f"Page {number} of {pages}", links, label, css)


def _past(number: int, pages: int, base: str, *, label: str = "Pages", css: str = "") -> Pager:
    """For a page behind the last, which is empty."""
    words = f"There is no page {number:,}: the last is {pages:,}."
    return Pager(words, (PageLink("To the last page", _url(base, pages)),), label, css)


def _url(base: str, number: int) -> str:
    return f"?{base}{'&' if base else ''}page={number}"
