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
    capped: bool
    """``total`` stopped counting: there are more."""
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
    found: QuerySet[Any],
    rows: Callable[[QuerySet[Any]], tuple[R, ...]],
    number: int,
    per_page: int,
    limit: int | None = None,
) -> Page[R]:
    """One page of a query, which is empty beyond the end. ``limit``: counting goes no further, unless the
    page asked for lies behind it."""
    counted = found.order_by()
    total = counted.count() if limit is None else counted[: limit + 1].count()
    capped = limit is not None and total > limit
    if limit is not None and capped:
        total, capped = (counted.count(), False) if number * per_page > limit else (limit, True)
    pages = max(1, -(-(total + capped) // per_page))
    number = max(1, number)
    start = (number - 1) * per_page
    return Page(rows(found[start : start + per_page]), number, pages, total, capped, per_page)
