"""Sessions with their rows, and the actions on many of them, which all go by way of the one bulk page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ActionLocation
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Line, Message, Part, SearchBlock, Session
from sessions_app.selectors.filterfields import FIELDS, Field, Offers
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.payloads import PayloadOptions, payload_lines
from sessions_app.services.bulk import PRESETS, Selection, selection_keep
from sessions_app.services.reading import session_refresh
from sessions_app.services.scanning import session_scan

from .base import TruthAdmin, reading

EVERYWHERE = [ActionLocation.CHANGE_LIST, ActionLocation.CHANGE_FORM]


class FieldFilter(admin.SimpleListFilter):
    """A field of the sessions page's filter."""

    field: Field

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            (choice.value, f"{choice.label} ({choice.count})" if choice.count else choice.label)
            for choice in self.field.choices(Offers()) or ()
        ]

    def queryset(self, request: HttpRequest, sessions: QuerySet[Session]) -> QuerySet[Session]:
        if not (value := self.value()):
            return sessions
        try:
            return SessionFilter(**{self.field.name: self.field.read([value])}).apply(sessions)
        except ValueError as fault:
            raise IncorrectLookupParameters(str(fault)) from fault


FIELD_FILTERS = tuple(
    type(
        f"{field.name}_filter",
        (FieldFilter,),
        {"title": field.label or field.name, "parameter_name": field.name, "field": field},
    )
    for field in FIELDS
    if field.values and field.condition
)


def _repair_action(name: str) -> Any:
    """An admin action that takes its selection to the bulk page, where the preset ``name`` is chosen."""

    def act(self: SessionAdmin, request: HttpRequest, sessions: QuerySet[Session]) -> HttpResponse:
        ids = sessions.order_by("pk").values_list("pk", flat=True)
        kept = selection_keep(request.session, Selection(ids=tuple(ids)))
        return HttpResponseRedirect(f"{reverse('sessions_app:bulk')}?selection={kept}&preset={name}")

    act.__name__ = name.replace("-", "_")
    return admin.action(act, description=PRESETS[name].title, permissions=["repair"], location=EVERYWHERE)


@admin.register(Session)
class SessionAdmin(TruthAdmin[Session]):
    list_display = (
        "__str__",
        "page",
        "health",
        "blocked_count",
        "at_risk_count",
        "provider",
        "model",
        "part_count",
        "updated",
        "source",
    )
    list_select_related = ("source",)
    list_filter = (*FIELD_FILTERS, "source", "dialect", "provider")
    search_fields = ("stored_id__exact", "search")
    search_help_text = "Words of the title or directory, or an exact id"
    ordering = ("health_rank", "-time_updated", "-pk")
    deferred = ("row", "epoch", "inputs", "sequence", "search", "reasons")
    exclude = ("search",)
    actions = (*(_repair_action(name) for name in PRESETS), "rescan", "export_payloads")
    list_per_page = 100

    def has_repair_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("sessions_app.add_repair")

    @admin.action(description="Scan again", permissions=["repair"], location=EVERYWHERE)
    def rescan(self, request: HttpRequest, sessions: QuerySet[Session]) -> None:
        now = timezone.now()
        scanned = 0
        for session in sessions.select_related("source").iterator(chunk_size=50):
            refreshed = session_refresh(session=session, now=now)
            if refreshed.problem:
                messages.warning(request, f"{session}: {refreshed.problem}")
            scanned += session_scan(session=session, now=now, force=True)
        messages.success(request, f"{scanned} sessions scanned again.")

    @admin.action(description="Export payloads (NDJSON)", location=EVERYWHERE)
    def export_payloads(self, request: HttpRequest, sessions: QuerySet[Session]) -> StreamingHttpResponse:
        lines = reading(request).lines(payload_lines(sessions.order_by("pk"), PayloadOptions()))
        response = StreamingHttpResponse((line.encode() for line in lines), content_type="application/x-ndjson")
        response["Content-Disposition"] = 'attachment; filename="payloads.ndjson"'
        return response


@admin.register(SearchBlock)
class SearchBlockAdmin(TruthAdmin[SearchBlock]):
    """Its text is compressed: what can be said of a block is whose it is."""

    list_display = ("session", "number")
    search_fields = ("session__stored_id__exact",)
    exclude = ("text",)


@admin.register(Line)
class LineAdmin(TruthAdmin[Line]):
    list_display = ("file", "number", "position", "session", "page")
    search_fields = ("file", "session__stored_id__exact")
    deferred = ("data",)


@admin.register(Message)
class MessageAdmin(TruthAdmin[Message]):
    list_display = ("stored_id", "table", "kind", "provider", "model", "error", "finish", "session", "created", "page")
    list_filter = ("table", "kind")
    search_fields = ("stored_id__exact", "session__stored_id__exact")
    deferred = ("data", "columns")


@admin.register(Part)
class PartAdmin(TruthAdmin[Part]):
    list_display = (
        "stored_id",
        "kind",
        "tool",
        "call_id",
        "status",
        "size",
        "message_stored_id",
        "session",
        "created",
        "page",
    )
    list_filter = ("kind", "status")
    search_fields = ("stored_id__exact", "call_id__exact", "session__stored_id__exact")
    deferred = ("data", "columns")
