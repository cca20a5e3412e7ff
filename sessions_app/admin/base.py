"""What all admins here share: stored truth is looked at, never typed over, and big tables are not counted."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import FETCH_PEERS, Model, QuerySet
from django.http import HttpRequest

COUNT_LIMIT = 10_000


class CappedPaginator(Paginator[Any]):
    """Counts no further than this: a full count reads a whole table of parts."""

    @cached_property
    def count(self) -> int:
        found = cast("QuerySet[Model]", self.object_list)
        return found.order_by()[:COUNT_LIMIT].count()


class TruthAdmin[M: Model](admin.ModelAdmin[M]):
    """Looking only: changes go through the services, which keep a restore point and an undo."""

    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 200
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    deferred: tuple[str, ...] = ()
    """Long columns that lists leave in the database."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        found = super().get_queryset(request).fetch_mode(FETCH_PEERS)
        return found.defer(*self.deferred) if self.deferred else found

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False
