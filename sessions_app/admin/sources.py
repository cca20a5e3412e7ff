"""Sources, what of them could not be read, and the imports."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.models import (
    HealthDay,
    ImportJob,
    ImportRange,
    Project,
    SessionCount,
    SlimJob,
    Source,
    SourceMark,
    SourceProblem,
    WorkerBeat,
)

from .base import TruthAdmin


@admin.register(Source)
class SourceAdmin(TruthAdmin[Source]):
    list_display = ("name", "kind", "origin", "state", "sessions_total", "sessions_imported", "last_read_at", "page")
    list_filter = ("kind", "origin", "state")
    search_fields = ("name", "path")


@admin.register(Project)
class ProjectAdmin(TruthAdmin[Project]):
    list_display = ("stored_id", "source", "worktree")
    list_filter = ("source",)
    search_fields = ("stored_id__exact", "worktree")


@admin.register(SourceProblem)
class SourceProblemAdmin(TruthAdmin[SourceProblem]):
    list_display = ("source", "session_id_stored", "table", "row", "path", "reason")
    list_filter = ("source", "table")
    search_fields = ("session_id_stored__exact", "row__exact")


@admin.register(SessionCount)
class SessionCountAdmin(TruthAdmin[SessionCount]):
    list_display = ("source", "kind", "value", "health", "sessions")
    list_filter = ("source", "kind", "health")
    search_fields = ("value__exact",)


@admin.register(HealthDay)
class HealthDayAdmin(TruthAdmin[HealthDay]):
    list_display = ("source", "day", "blocked", "at_risk", "healthy", "unreadable", "not_scanned")
    list_filter = ("source", "day")


@admin.register(ImportJob)
class ImportJobAdmin(TruthAdmin[ImportJob]):
    list_display = ("__str__", "state", "total", "done", "failed", "actor", "created_at", "heartbeat_at")
    list_filter = ("state", "source")


@admin.register(SlimJob)
class SlimJobAdmin(TruthAdmin[SlimJob]):
    list_display = ("__str__", "state", "keep_days", "actor", "created_at", "heartbeat_at")
    list_filter = ("state", "source")


@admin.register(ImportRange)
class ImportRangeAdmin(TruthAdmin[ImportRange]):
    list_display = ("__str__", "scanning", "lease_until", "heartbeat_at")
    list_filter = ("whole", "scanning")


@admin.register(SourceMark)
class SourceMarkAdmin(TruthAdmin[SourceMark]):
    list_display = ("__str__", "files")
    deferred = ("text",)
    exclude = ("text",)


@admin.register(WorkerBeat)
class WorkerBeatAdmin(TruthAdmin[WorkerBeat]):
    list_display = ("__str__", "started_at", "beat_at")
