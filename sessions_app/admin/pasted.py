"""Pasted error texts that a page has an address for."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.models import PastedError

from .base import TruthAdmin


@admin.register(PastedError)
class PastedErrorAdmin(TruthAdmin[PastedError]):
    list_display = ("key", "asked", "created_at")
    search_fields = ("key", "asked")
    deferred = ("text",)
