"""What people arranged for themselves."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.base import TruthAdmin
from sessions_app.models import IgnoredFinding, SavedView


@admin.register(SavedView)
class SavedViewAdmin(TruthAdmin[SavedView]):
    list_display = ("name", "owner", "shared", "query")
    list_filter = ("shared",)
    search_fields = ("name",)


@admin.register(IgnoredFinding)
class IgnoredFindingAdmin(TruthAdmin[IgnoredFinding]):
    list_display = ("rule", "session", "actor", "until", "reason")
    list_filter = ("rule",)
    search_fields = ("session__stored_id__exact", "reason")
