"""Numbered pages of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet


@dataclass(frozen=True, slots=True)
class Page[R]:
    rows: tuple[R, ...]
    number: int
    pages: int
    total: int
    per_page: int

    @property
    def past(self) -> bool:
        """Nothing is here: the page lies behind the last."""
        return self.number > self.pages

    @property
    def first(self) -> int:
        return (self.number - 1) * self.per_page + 1

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def paged[R](
    found: QuerySet[Any], rows: Callable[[QuerySet[Any]], tuple[R, ...]], number: int, per_page: int, total: int
) -> Page[R]:
    """One page of a query that has ``total`` rows; it is empty beyond the end."""
    pages = max(1, -(-total // per_page))
    number = max(1, number)
    start = (number - 1) * per_page
    return Page(rows(found[start : start + per_page]) if start < total else (), number, pages, total, per_page)
