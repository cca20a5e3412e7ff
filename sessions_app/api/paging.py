"""Numbered pages of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

PageNumber = Annotated[int, Query(ge=1, le=10_000_000)]
PerPage = Annotated[int, Query(ge=1, le=200)]


class PageOut(Schema):
    """A page of a list. Beyond the last it has no items."""

    page: int
    pages: int
    total: int
    next: str | None = Field(description="address of the next page, null = this is the last")


def next_page(request: HttpRequest, page: int, pages: int) -> str | None:
    """The same address with the next page's number."""
    if page >= pages:
        return None
    query = request.GET.copy()
    query["page"] = str(page + 1)
    return f"{request.path}?{query.urlencode()}"


def page_of[M: Model](
    request: HttpRequest, found: QuerySet[M], page: int, per_page: int, document: Callable[[M], Any]
) -> dict[str, Any]:
    """One page as a document; one beyond the end is empty."""
    total = found.order_by().count()
    pages = max(1, -(-total // per_page))
    rows = found[(page - 1) * per_page : page * per_page]
    items = [document(row) for row in rows]
    return {"items": items, "page": page, "pages": pages, "total": total, "next": next_page(request, page, pages)}
