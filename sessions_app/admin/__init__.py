"""Django's stock admin over all tables: looking at what is stored, and a second way into the same services."""

from django.contrib import admin

from . import access, engine, findings, repairs, sessions, sources, views

__all__ = ["access", "engine", "findings", "repairs", "sessions", "sources", "views"]

admin.site.site_header = admin.site.site_title = "Suture administration"
