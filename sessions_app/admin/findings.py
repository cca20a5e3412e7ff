"""What the scans found."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.models import Finding, Verdict

from .base import TruthAdmin


@admin.register(Finding)
class FindingAdmin(TruthAdmin[Finding]):
    list_display = ("line", "place", "rule", "severity", "safety", "session", "page")
    list_filter = ("severity", "safety", "rule", "session__health", "session__source")
    list_select_related = ("session",)
    search_fields = ("session__stored_id__exact", "key__exact")


@admin.register(Verdict)
class VerdictAdmin(TruthAdmin[Verdict]):
    list_display = ("session", "protocol", "accepted", "own", "page")
    list_filter = ("protocol", "accepted", "own", "session__health")
    list_select_related = ("session",)
    search_fields = ("session__stored_id__exact",)
