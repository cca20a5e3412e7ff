"""Repairs: applied plans with the row changes they made, alone and in batches (docs/contract/design.md#5)."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import models
from django.urls import reverse

from sessions_app.domain.repair import RowChange as DomainRowChange
from sessions_app.domain.rowcodec import row_from_text, row_text
from sessions_app.stores.journal import new_public_id as new_public_id  # migrations name it here

from .jobs import Job
from .sessions import Session
from .sources import Source


class RepairBatch(Job):
    """Repairs started together: the filter they came from, options, progress, one undo for all.

    ``done``: sessions handled, whatever came of them; also where the next chunk goes on.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"
        UNDOING = "undoing", "Undoing"
        UNDONE = "undone", "Undone"

    ACTIVE = (*Job.ACTIVE, State.UNDOING)

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    filter = models.JSONField(default=dict)
    """The filter as it was sent, or ``{"ids": [...]}``."""
    session_ids = models.JSONField(default=list)
    """The sessions it stood for when the batch was started."""
    options = models.JSONField(default=dict)
    """Rules, safety, choices, stop on first failure, force."""
    reason = models.TextField(blank=True, default="")
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    repaired = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)

    class Meta(Job.Meta):
        verbose_name_plural = "repair batches"

    def __str__(self) -> str:
        return f"batch {self.public_id}"

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:batch", args=(self.public_id,))

    @property
    def results(self) -> list[dict[str, Any]]:
        """What came of each session so far, in the order they were handled."""
        return list(self.rows.order_by("place").values(*BatchResult.COLUMNS))


class BatchResult(models.Model):
    """What came of one session of a batch, as its report has it; the session may be gone."""

    COLUMNS = ("session", "stored_id", "title", "outcome", "repair", "rules", "changes", "why", "undo")

    batch = models.ForeignKey(RepairBatch, on_delete=models.CASCADE, related_name="rows")
    place = models.PositiveIntegerField()
    """Among the sessions of the batch, from 0."""
    session = models.BigIntegerField()
    """Its number."""
    stored_id = models.CharField(max_length=255, blank=True, default="")
    title = models.TextField(blank=True, default="")
    outcome = models.CharField(max_length=16)
    """repaired, nothing, skipped or failed."""
    repair = models.CharField(max_length=64, blank=True, default="")
    rules = models.JSONField(default=list)
    changes = models.PositiveIntegerField(default=0)
    why = models.TextField(blank=True, default="")
    undo = models.TextField(blank=True, default="")
    """What came of taking it back, "" = nobody tried."""

    class Meta:
        ordering = ("batch", "place")
        constraints = (models.UniqueConstraint(fields=("batch", "place"), name="batch_result_once"),)
        indexes = (
            models.Index(fields=("batch", "repair"), name="batch_result_of_repair"),
            models.Index(fields=("batch", "outcome"), name="batch_result_by_outcome"),
        )

    def __str__(self) -> str:
        return f"{self.stored_id or self.session}: {self.outcome}"


class Repair(models.Model):
    """An applied plan: who, when, why, what it changed, and whether it was taken back."""

    class State(models.TextChoices):
        PLANNED = "planned", "Planned"
        APPLIED = "applied", "Applied"
        UNDONE = "undone", "Undone"
        FAILED = "failed", "Failed"

    public_id = models.CharField(max_length=64, unique=True, default=new_public_id, editable=False)
    """Also the id of its entry in the journal of the data directory."""
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, blank=True, related_name="repairs")
    source = models.ForeignKey(Source, on_delete=models.SET_NULL, null=True, blank=True, related_name="repairs")
    batch = models.ForeignKey(RepairBatch, on_delete=models.SET_NULL, null=True, blank=True, related_name="repairs")
    session_stored_id = models.CharField(max_length=255)
    session_title = models.TextField(blank=True, default="")
    """Kept for the history after the session is gone."""
    path = models.TextField()
    """The file that was written."""
    undoes = models.OneToOneField("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="undone_by")
    """This repair is the undo of that one."""
    state = models.CharField(max_length=16, choices=State, default=State.PLANNED)
    face = models.CharField(max_length=16, default="web")
    """web, admin, api or command."""
    actor = models.CharField(max_length=150, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    rules = models.JSONField(default=list)
    findings = models.JSONField(default=list)
    """Keys of the findings it repairs."""
    choices = models.JSONField(default=dict)
    """Of these, the name of the choice that was made for each."""
    operations = models.JSONField(default=list)
    """The plan's operations: action, subject, ids, why."""
    words = models.TextField(blank=True, default="")
    """What was done where, in words: what is removed has no place afterwards. "" = no rule planned it."""
    hash_before = models.CharField(max_length=64, blank=True, default="")
    hash_after = models.CharField(max_length=64, blank=True, default="")
    backup_path = models.TextField(blank=True, default="")
    backup_note = models.TextField(blank=True, default="")
    """Why no full backup was made, "" = one was or an earlier one of the day stands."""
    change_count = models.PositiveIntegerField(default=0)
    rules_version = models.CharField(max_length=64, blank=True, default="")
    verification = models.JSONField(default=dict)
    """After the repair: health, findings left by severity, verdicts."""
    holders = models.JSONField(default=list)
    """Processes that had the file open."""
    forced = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=("-created_at", "-id"), name="repair_newest_first"),
            models.Index(fields=("session", "-created_at"), name="repair_of_session"),
            models.Index(fields=("state",), name="repair_state"),
        )

    def __str__(self) -> str:
        return self.public_id

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:repair-detail", args=(self.public_id,))


class RowChange(models.Model):
    """One row that a repair changed, as it was and as it became (``rowcodec.row_text``; "" = no such row)."""

    repair = models.ForeignKey(Repair, on_delete=models.CASCADE, related_name="changes")
    position = models.PositiveIntegerField()
    table = models.CharField(max_length=64)
    key = models.TextField()
    before = models.TextField(blank=True, default="")
    after = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("repair", "position")
        constraints = (models.UniqueConstraint(fields=("repair", "position"), name="row_change_order"),)

    def __str__(self) -> str:
        return f"{self.table} {self.key}"

    @classmethod
    def of(cls, repair: Repair, position: int, change: DomainRowChange) -> RowChange:
        return cls(
            repair=repair,
            position=position,
            table=change.table,
            key=row_text(change.key),
            before="" if change.before is None else row_text(change.before),
            after="" if change.after is None else row_text(change.after),
        )

    @property
    def change(self) -> DomainRowChange:
        """As the domain has it."""
        return DomainRowChange(
            self.table,
            row_from_text(self.key),
            row_from_text(self.before) if self.before else None,
            row_from_text(self.after) if self.after else None,
        )
