"""What was done: repairs, their row changes, batches, and the audit trail."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ActionLocation
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.domain.rules import REGISTRY
from sessions_app.models import AuditEntry, BatchResult, Repair, RepairBatch, RowChange
from sessions_app.ruletexts import rule_kind
from sessions_app.services.actor import Actor
from sessions_app.services.bulk import BulkRefused, bulk_undo
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.undo import repair_undo
from sessions_app.tasks import job_enqueue

from .base import TruthAdmin

EVERYWHERE = [ActionLocation.CHANGE_LIST, ActionLocation.CHANGE_FORM]
FACE = "admin"


class RuleFilter(admin.SimpleListFilter):
    """Repairs of a finding of one rule."""

    title = parameter_name = "rule"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code, f"{rule_kind(code)} ({code})") for code in sorted(REGISTRY)]

    def queryset(self, request: HttpRequest, repairs: QuerySet[Repair]) -> QuerySet[Repair]:
        return repairs.filter(findings__icontains=f'"{rule}:') if (rule := self.value()) else repairs


class UndoAdmin[M: Model](TruthAdmin[M]):
    """What can be taken back, by who may repair."""

    def has_repair_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("sessions_app.add_repair")


class RowChangeInline(admin.TabularInline[RowChange, Repair]):
    model = RowChange
    extra = 0
    can_delete = False
    max_num = 0
    fields = readonly_fields = ("position", "table", "key", "before", "after")


@admin.register(Repair)
class RepairAdmin(UndoAdmin[Repair]):
    list_display = (
        "public_id",
        "session_title",
        "state",
        "face",
        "actor",
        "change_count",
        "created_at",
        "undone_at",
        "page",
    )
    list_filter = ("state", RuleFilter, "session__health", "face", "source")
    search_fields = ("public_id__exact", "session_stored_id__exact", "actor")
    date_hierarchy = "created_at"
    inlines = (RowChangeInline,)
    actions = ("undo",)

    @admin.action(description="Undo", permissions=["repair"], location=EVERYWHERE)
    def undo(self, request: HttpRequest, repairs: QuerySet[Repair]) -> None:
        """The newest first: an older one of the same session is refused until then."""
        undone = 0
        for repair in repairs.select_related("session__source", "source", "undoes").order_by("-created_at", "-id"):
            try:
                repair_undo(repair=repair, actor=Actor(request.user.get_username(), FACE), now=timezone.now())
                undone += 1
            except RepairRefused as refusal:
                messages.warning(request, f"{repair}: {refusal}")
        if undone:
            messages.success(request, f"{undone} taken back.")


@admin.register(RowChange)
class RowChangeAdmin(TruthAdmin[RowChange]):
    list_display = ("repair", "position", "table", "key")
    list_filter = ("table",)
    search_fields = ("repair__public_id__exact",)
    deferred = ("before", "after")


@admin.register(RepairBatch)
class RepairBatchAdmin(UndoAdmin[RepairBatch]):
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
    actions = ("undo",)

    @admin.action(description="Undo all repairs of it", permissions=["repair"], location=EVERYWHERE)
    def undo(self, request: HttpRequest, batches: QuerySet[RepairBatch]) -> None:
        for batch in batches:
            try:
                bulk_undo(batch=batch, actor=request.user.get_username(), face=FACE, now=timezone.now())
            except BulkRefused as refusal:
                messages.warning(request, f"{batch}: {refusal}")
            else:
                job_enqueue(batch)
                messages.success(request, f"{batch} is taken back in the background.")


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
