"""What the scans found."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.models import Finding, Verdict

from .base import TruthAdmin


@admin.register(Finding)
class FindingAdmin(TruthAdmin[Finding]):
    list_display = ("summary", "rule", "severity", "safety", "session")
    list_filter = ("severity", "safety", "rule", "session__source")
    search_fields = ("session__stored_id__exact", "key__exact")


@admin.register(Verdict)
class VerdictAdmin(TruthAdmin[Verdict]):
    list_display = ("session", "protocol", "accepted", "own")
    list_filter = ("protocol", "accepted", "own")
    search_fields = ("session__stored_id__exact",)
