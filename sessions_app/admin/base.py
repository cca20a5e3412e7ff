"""What all admins here share: stored truth is looked at, never typed over, and big tables are not counted."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import FETCH_PEERS, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from sessions_app.services.revealing import Reading

COUNT_LIMIT = 10_000
_BREAK = "<br>"


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

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return _masked(request, super().changelist_view(request, extra_context))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return _masked(request, super().change_view(request, object_id, form_url, extra_context))

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False


def reading(request: HttpRequest) -> Reading:
    """Who looks, as everywhere: who may repair sees keys."""
    reveals, who = request.user.has_perm("sessions_app.add_repair"), request.user.get_username()
    return Reading(reveals, f"{request.method} {request.path}", who, "admin", timezone.now())


def _masked(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Stored rows stand on these pages: what looks like a key is masked, or the audit trail keeps that it was seen."""

    def mask(rendered: HttpResponse) -> None:
        text = rendered.content.decode().replace(_BREAK, "\r")  # a key's lines stay lines
        rendered.content = reading(request).given(text).replace("\r", _BREAK).encode()

    if isinstance(response, TemplateResponse):
        response.add_post_render_callback(mask)
    return response
