"""What was asked of providers: probes of sessions, and compactions in the making (docs/contract/design.md#7)."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from .jobs import Job
from .repairs import Repair
from .sessions import Session


class Probe(models.Model):
    """One question "do you accept this session now?", with the answer, its time and its cost."""

    class Answer(models.TextChoices):
        ACCEPTED = "accepted", "Accepted"
        REFUSED = "refused", "Refused"
        FAILED = "failed", "No answer"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="probes")
    """The provider's words may quote the conversation, so they go with it."""
    session_stored_id = models.CharField(max_length=255)
    rows_hash = models.CharField(max_length=64, blank=True, default="")
    """Of the rows that were lowered."""
    as_stored = models.BooleanField(default=True)
    """False: the safe repairs were applied to what was lowered, not to the store."""
    target = models.JSONField(default=dict)
    host = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    """Bytes that were sent."""
    digest = models.CharField(max_length=64)
    """SHA-256 of them."""
    answer = models.CharField(max_length=16, choices=Answer)
    status = models.PositiveIntegerField(null=True, blank=True)
    """HTTP status, None where no answer came."""
    error = models.TextField(blank=True, default="")
    """The provider's words, exactly."""
    locations = models.JSONField(default=list)
    """What the words point at: rules, position, message, part."""
    usage = models.JSONField(default=dict)
    cost = models.FloatField(null=True, blank=True)
    """Dollars, None = not known."""
    milliseconds = models.PositiveIntegerField(default=0)
    actor = models.CharField(max_length=150, blank=True, default="")
    face = models.CharField(max_length=16, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (models.Index(fields=("session", "-created_at", "-id"), name="probe_of_session"),)

    def __str__(self) -> str:
        return f"probe {self.pk}: {self.answer}"

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:provider", args=(self.session_id,))


class Compaction(Job):
    """A summary of a session, made in the background, looked at, then written as its client would have.

    ``total``: characters of conversation; ``done``: those that are in the summary.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        READY = "ready", "Ready to apply"
        APPLIED = "applied", "Applied"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="compactions")
    rows_hash = models.CharField(max_length=64)
    """Of the rows that are summarised; applied only to the same."""
    target = models.JSONField(default=dict)
    """The model that summarises."""
    host = models.CharField(max_length=255)
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    chunk = models.PositiveIntegerField()
    """Characters of one request; smaller after the model found one too long."""
    requests = models.PositiveIntegerField(default=0)
    summary = models.TextField(blank=True, default="")
    """So far; what comes next is added to it."""
    usage = models.JSONField(default=dict)
    """Tokens of the last response."""
    cost = models.FloatField(null=True, blank=True)
    """Dollars of all requests, None = not known."""
    repair = models.OneToOneField(Repair, on_delete=models.SET_NULL, null=True, blank=True, related_name="compaction")

    def __str__(self) -> str:
        return f"compaction {self.pk} of session {self.session_id}"

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:provider", args=(self.session_id,))
