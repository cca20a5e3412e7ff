"""Numbered pages of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.db.models import Model, QuerySet
from ninja import Query

PageNumber = Annotated[int, Query(ge=1, le=10_000_000)]
PerPage = Annotated[int, Query(ge=1, le=200)]


def page_of[M: Model](found: QuerySet[M], page: int, per_page: int, document: Callable[[M], Any]) -> dict[str, Any]:
    """One page as a document; a number beyond the end is the last page."""
    total = found.order_by().count()
    pages = max(1, -(-total // per_page))
    page = min(page, pages)
    rows = found[(page - 1) * per_page : page * per_page]
    return {"items": [document(row) for row in rows], "page": page, "pages": pages, "total": total}
