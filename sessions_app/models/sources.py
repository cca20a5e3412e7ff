"""Sources: where sessions come from, what of them could not be read, and the jobs that read them."""

from __future__ import annotations

from pathlib import Path

from django.db import models
from django.urls import reverse

from sessions_app.domain.knownmodels import input_said
from sessions_app.stores import open_in_place, open_store
from sessions_app.stores.base import Store

from .jobs import Job, Leased


class Source(models.Model):
    """An attached database file or folder, an uploaded file, or the bundled samples."""

    class Kind(models.TextChoices):
        SQLITE = "sqlite", "Database"
        STORAGE = "storage", "Storage folder"
        EXPORT = "export", "Export"
        ROWS = "rows", "Row document"

    class Origin(models.TextChoices):
        ATTACHED = "attached", "Attached"
        UPLOADED = "uploaded", "Uploaded"
        SAMPLE = "sample", "Sample"

    class State(models.TextChoices):
        LISTING = "listing", "Listing sessions"
        IMPORTING = "importing", "Importing"
        READY = "ready", "Ready"
        FAILED = "failed", "Failed"

    kind = models.CharField(max_length=16, choices=Kind)
    origin = models.CharField(max_length=16, choices=Origin)
    name = models.CharField(max_length=255)
    path = models.TextField()
    """Attached: the file itself. Uploaded: the name it was uploaded under."""
    stored_path = models.TextField(blank=True, default="")
    """Uploaded and samples: the copy in the data directory that repairs write to."""
    native = models.BooleanField(default=False)
    """It is where its client looks for it, so facts about this machine apply to it (docs/contract/design.md#4)."""
    dialects = models.JSONField(default=list)
    state = models.CharField(max_length=16, choices=State, default=State.LISTING)
    error = models.TextField(blank=True, default="")
    note = models.TextField(blank=True, default="")
    """What the user should know of this source (a database that came without its WAL, a truncated export)."""
    input = models.CharField(max_length=64, blank=True, default="")
    """What the models of its sessions read, as somebody said ("text,image,pdf"); "" = as the client's configuration
    has it."""
    damage = models.JSONField(default=list)
    """What SQLite's quick_check said at the last reading, [] = nothing."""
    sessions_total = models.PositiveIntegerField(default=0)
    sessions_imported = models.PositiveIntegerField(default=0)
    parts_imported = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    last_read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:source", args=(self.pk,))

    @property
    def live(self) -> bool:
        """The agent may write to it at any time: it is re-read when a session is opened."""
        return self.origin == self.Origin.ATTACHED

    @property
    def file(self) -> str:
        """The file or folder that is read and written."""
        return self.stored_path or self.path

    def open_store(self) -> Store:
        """Its store, to be closed by the caller. Raises ``StoreError``."""
        store = open_in_place(Path(self.path), self.kind) if self.live else open_store(Path(self.file), self.kind)
        store.input = input_said(self.input)
        return store


class SourceMark(models.Model):
    """What a source's store held when it was last read (``stores.base.Mark``). It names every session: kept apart from
    the source, which is read with every page."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, primary_key=True, related_name="mark")
    files = models.CharField(max_length=64, blank=True, default="")
    """``Mark.files``"""
    text = models.TextField()
    """``Mark.to_json``"""

    def __str__(self) -> str:
        return f"mark of source {self.source_id}"


class SourceProblem(models.Model):
    """Something in a source that could not be read; the rest went on."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="problems")
    session_id_stored = models.CharField(max_length=255, blank=True, default="")
    table = models.CharField(max_length=64, blank=True, default="")
    row = models.CharField(max_length=255, blank=True, default="")
    path = models.TextField(blank=True, default="")
    """JSON path in the row, or the file inside a storage folder."""
    reason = models.TextField()

    class Meta:
        ordering = ("id",)
        indexes = (models.Index(fields=("source", "session_id_stored"), name="problem_of_session"),)

    def __str__(self) -> str:
        return f"{self.table} {self.row}: {self.reason}"


class Project(models.Model):
    """A project row of a source, verbatim."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="projects")
    stored_id = models.CharField(max_length=255)
    row = models.TextField()
    worktree = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=("source", "stored_id"), name="project_once_per_source"),)

    def __str__(self) -> str:
        return self.stored_id


class ImportJob(Job):
    """One background import. ``total``: sessions to read; ``done``: those that were read and scanned.

    Once it has begun (``started_at``) its sessions lie in ranges, which several workers may have in hand.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    class Kind(models.TextChoices):
        IMPORT = "import", "Import"
        SYNC = "sync", "Sync"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.IMPORT)
    """A sync first finds out what changed since the last reading."""
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    failed = models.PositiveIntegerField(default=0)
    parts = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"import {self.pk} of source {self.source_id}"

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:source", args=(self.source_id,))

    @property
    def percent(self) -> int:
        if self.state == self.State.DONE:  # also where a killed worker left some uncounted
            return 100
        if not self.total:
            return 0
        return min(100, 100 * (self.done + self.failed) // self.total)

    @property
    def passing(self) -> str:
        """What it is at: "rows" are brought in of all sessions, before a "scan" goes over them; "" where it is over."""
        if not self.active:
            return ""
        return "rows" if self.source.sessions.filter(pending=True).exists() else "scan"


class ImportRange(Leased):
    """Some sessions of an import, all in one worker's hands at a time. It goes when nothing is left of it to do, and
    with the end of the import."""

    whole = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="ranges")
    sessions = models.JSONField()
    """Their keys, the newest first."""
    scanning = models.BooleanField(default=False)
    """Their rows are in the mirror."""
    counted = models.PositiveIntegerField(default=0)
    """Of its sessions: those in ``done`` and ``failed`` of its import."""

    class Meta:
        ordering = ("whole", "scanning", "pk")
        indexes = (models.Index(fields=("whole", "scanning", "id"), name="range_next"),)

    def __str__(self) -> str:
        return f"range {self.pk} of {self.whole}"


class WorkerBeat(models.Model):
    """A background worker and when it last said that it lives."""

    worker_id = models.CharField(max_length=64, unique=True)
    started_at = models.DateTimeField()
    beat_at = models.DateTimeField()

    class Meta:
        ordering = ("-beat_at", "-id")

    def __str__(self) -> str:
        return self.worker_id
