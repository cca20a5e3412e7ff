"""A store that is being slimmed in its place."""

from __future__ import annotations

from django.db import models

from .jobs import Job
from .sources import Source


class SlimJob(Job):
    """One slimming in the background. ``done`` of ``total`` of what ``words`` name, step by step."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="slimmings")
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    keep_days = models.PositiveIntegerField(default=0)
    """Events of so many days are kept in any case."""
    words = models.CharField(max_length=64, blank=True, default="")
    report = models.JSONField(default=dict)
    """What came of it (``services/slimming.py``, ``Slimming.document``); {} until it is done."""

    def __str__(self) -> str:
        return f"slimming {self.pk} of source {self.source_id}"
