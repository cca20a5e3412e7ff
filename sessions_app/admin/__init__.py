"""Django's stock admin over all tables: looking at what is stored, and a second way into the same services."""

from django.contrib import admin

from sessions_app.admin import access, engine, findings, pasted, repairs, savedviews, sessions, sources

__all__ = ["access", "engine", "findings", "pasted", "repairs", "savedviews", "sessions", "sources"]

admin.site.site_header = admin.site.site_title = "Suture administration"
