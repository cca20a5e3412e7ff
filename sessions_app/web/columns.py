"""The list's columns: which there are, and which the reader wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest

from sessions_app.selectors.filterfields import SORTS
from sessions_app.selectors.filters import SessionFilter

COLUMNS: dict[str, tuple[str, str, str]] = {
    "source": ("Source", "", ""),
    "project": ("Project", "", ""),
    "model": ("Model", "", ""),
    "rejected": ("Rejected by", "", "wide-only"),
    "findings": ("Findings", "-findings", "number"),
    "parts": ("Parts", "-parts", "number"),
    "size": ("Size", "-size", "number wide-only"),
    "created": ("Created", "", ""),
    "updated": ("Updated", "-updated", ""),
    "repaired": ("Last repair", "", ""),
}
"""Key -> (word, first order, classes), in the order they stand; health and title are always there."""

USUAL = ("model", "rejected", "findings", "parts", "size", "updated")


@dataclass(frozen=True, slots=True)
class Column:
    """A column head: its word, the address that sorts by it ("" = does not sort), and the direction in force."""

    word: str
    url: str = ""
    direction: str = ""
    css: str = ""

    @property
    def shape(self) -> str:
        return {"ascending": "sort-up", "descending": "sort-down"}.get(self.direction, "")


def chosen_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The known ones among ``names``, in their order."""
    wanted = set(names)
    return tuple(name for name in COLUMNS if name in wanted)


def reader_columns(request: HttpRequest) -> tuple[str, ...]:
    """The reader's cookie, else the usual ones."""
    return chosen_columns(request.COOKIES.get("suture_columns", "").split(".")) or USUAL


def column_heads(wanted: SessionFilter, shown: Iterable[str], tail: str) -> list[Column]:
    heads = [("Health", "health", ""), ("Session", "title", ""), *(COLUMNS[name] for name in shown)]
    return [_head(wanted, *head, tail) for head in heads]


def _head(wanted: SessionFilter, word: str, first: str, css: str, tail: str) -> Column:
    if not first:
        return Column(word, css=css)
    name = first.lstrip("-")
    if wanted["sort"].lstrip("-") != name:
        return Column(word, f"?{wanted.to_query(sort=first)}{tail}", css=css)
    other = name if wanted["sort"].startswith("-") else f"-{name}"
    direction = "descending" if wanted["sort"].startswith("-") else "ascending"
    query = wanted.to_query(sort=other if other in SORTS else name) or "sort=health"
    return Column(word, f"?{query}{tail}", direction, css)
