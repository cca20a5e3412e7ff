"""What was asked of providers."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.models import Compaction, Probe

from .base import TruthAdmin


@admin.register(Probe)
class ProbeAdmin(TruthAdmin[Probe]):
    list_display = ("id", "session", "answer", "status", "host", "size", "cost", "actor", "created_at")
    list_filter = ("answer", "host")
    list_select_related = ("session",)
    search_fields = ("session_stored_id__exact", "actor")


@admin.register(Compaction)
class CompactionAdmin(TruthAdmin[Compaction]):
    list_display = ("id", "session", "state", "host", "percent", "cost", "actor", "created_at")
    list_filter = ("state", "host")
    list_select_related = ("session",)
    deferred = ("summary",)
