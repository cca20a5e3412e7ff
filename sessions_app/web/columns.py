"""The list's columns: which there are, and which the reader wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest

from sessions_app.selectors.filterfields import SORTS
from sessions_app.selectors.filters import SessionFilter

COLUMNS: dict[str, tuple[str, str, str]] = {
    "repair": ("Repair", "", "col-repair"),
    "rejected": ("Refused by", "", "col-refused"),
    "model": ("Model", "", "col-model"),
    "source": ("Store", "", "col-store"),
    "project": ("Project", "", "col-model"),
    "directory": ("Directory", "", "col-model"),
    "id": ("Id", "", "col-model"),
    "findings": ("Faults", "-findings", "number col-number"),
    "parts": ("Parts", "-parts", "number col-number"),
    "size": ("Size", "-size", "number col-number"),
    "created": ("Created", "", "number col-when"),
    "updated": ("Updated", "-updated", "number col-when"),
    "repaired": ("Last repair", "", "number col-when"),
}
"""Key -> (word, first order, classes), in the order they stand; state, title and what is wrong are always there."""

USUAL = ("repair", "rejected", "model", "source", "parts", "updated")


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


def sorted_shown(shown: tuple[str, ...], wanted: SessionFilter) -> tuple[str, ...]:
    """With the column that the list is sorted by, which says so."""
    by = wanted["sort"].lstrip("-")
    return chosen_columns(
        (*shown, *(name for name, (_, first, _) in COLUMNS.items() if first.lstrip("-") == by and by))
    )


def column_heads(wanted: SessionFilter, shown: Iterable[str], tail: str) -> list[Column]:
    fixed = (("State", "health", "col-state"), ("Session", "title", "col-title"), ("What is wrong", "", ""))
    heads = [*fixed, *(COLUMNS[name] for name in shown)]
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
