"""What all admins here share: stored truth is looked at, never typed over, and big tables are not counted."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import FETCH_PEERS, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html

from sessions_app.services.revealing import Reading

COUNT_LIMIT = 10_000
_BREAK = "<br>"
_STORED_TIMES = {"time_created": "created", "time_updated": "updated", "time_archived": "archived"}
"""Columns of milliseconds, and what is shown for each."""


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

    @admin.display(description="on site")
    def page(self, row: M) -> str:
        """Where the dashboard shows it."""
        return format_html('<a href="{}">Open</a>', cast("Any", row).get_absolute_url())

    @admin.display(description="created", ordering="time_created")
    def created(self, row: Any) -> str | None:
        return _moment(row.time_created)

    @admin.display(description="updated", ordering="time_updated")
    def updated(self, row: Any) -> str | None:
        return _moment(row.time_updated)

    @admin.display(description="archived", ordering="time_archived")
    def archived(self, row: Any) -> str | None:
        return _moment(row.time_archived)

    def get_fields(self, request: HttpRequest, obj: M | None = None) -> list[Any]:
        """All of them, stored times as dates."""
        return list(dict.fromkeys(_STORED_TIMES.get(str(name), name) for name in super().get_fields(request, obj)))

    def get_readonly_fields(self, request: HttpRequest, obj: M | None = None) -> list[Any]:
        stored = {field.name for field in self.model._meta.fields}
        shown = (word for name, word in _STORED_TIMES.items() if name in stored)
        return [*super().get_readonly_fields(request, obj), *shown]

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


def _moment(milliseconds: int | None) -> str | None:
    """A stored time as a date; what is none stays as it is."""
    try:
        at = None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, OSError, ValueError):
        return str(milliseconds)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else None


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
