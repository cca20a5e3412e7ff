"""Pages of the dashboard."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "sessions_app"

urlpatterns: list[URLPattern] = []
