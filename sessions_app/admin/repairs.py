"""What was done: repairs, their row changes, batches, and the audit trail."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from sessions_app.models import AuditEntry, BatchResult, Repair, RepairBatch, RowChange

from .base import TruthAdmin


class RowChangeInline(admin.TabularInline[RowChange, Repair]):
    model = RowChange
    extra = 0
    can_delete = False
    max_num = 0
    fields = readonly_fields = ("position", "table", "key", "before", "after")


@admin.register(Repair)
class RepairAdmin(TruthAdmin[Repair]):
    list_display = (
        "public_id",
        "session_title",
        "state",
        "face",
        "actor",
        "change_count",
        "created_at",
        "undone_at",
    )
    list_filter = ("state", "face", "source")
    search_fields = ("public_id__exact", "session_stored_id__exact", "actor")
    date_hierarchy = "created_at"
    inlines = (RowChangeInline,)


@admin.register(RowChange)
class RowChangeAdmin(TruthAdmin[RowChange]):
    list_display = ("repair", "position", "table", "key")
    list_filter = ("table",)
    search_fields = ("repair__public_id__exact",)
    deferred = ("before", "after")


@admin.register(RepairBatch)
class RepairBatchAdmin(TruthAdmin[RepairBatch]):
    list_display = (
        "public_id",
        "state",
        "total",
        "done",
        "repaired",
        "skipped",
        "failed",
        "actor",
        "created_at",
        "page",
    )
    list_filter = ("state",)
    deferred = ("session_ids",)
    exclude = ("session_ids",)

    @admin.display(description="progress and undo")
    def page(self, batch: RepairBatch) -> Any:
        return format_html('<a href="{}">Open</a>', reverse("sessions_app:batch", args=(batch.public_id,)))


@admin.register(BatchResult)
class BatchResultAdmin(TruthAdmin[BatchResult]):
    list_display = ("batch", "place", "stored_id", "outcome", "repair", "changes", "undo")
    list_filter = ("outcome",)
    search_fields = ("stored_id__exact", "repair__exact")


@admin.register(AuditEntry)
class AuditEntryAdmin(TruthAdmin[AuditEntry]):
    list_display = ("created_at", "sentence", "face", "object_type", "object_id")
    list_filter = ("action", "face")
    search_fields = ("actor__exact", "object_id__exact")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
