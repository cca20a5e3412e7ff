"""Jobs: work in the background that keeps its own progress, under a lease."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models


class Leased(models.Model):
    """What one worker has in hand at a time, for as long as its lease says."""

    lease_until = models.DateTimeField(null=True, blank=True)
    """Until then somebody has it in hand; None = it waits for the next chunk."""
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    """When somebody last worked on it."""

    class Meta:
        abstract = True


class Job(Leased):
    """Work done in short chunks, each under a lease, so that a killed worker loses at most the chunk in hand.

    ``services/jobs.py`` is the only place that moves one on. A kind brings its own ``State`` with the words below and
    a ``state`` field that offers them, and is registered in ``tasks.py``.
    """

    QUEUED, RUNNING, CANCELLED, FAILED = "queued", "running", "cancelled", "failed"
    ACTIVE: ClassVar[tuple[str, ...]] = (QUEUED, RUNNING)
    """States in which a worker has something to do."""

    state = models.CharField(max_length=16, default=QUEUED)
    total = models.PositiveBigIntegerField(default=0)
    done = models.PositiveBigIntegerField(default=0)
    """Of ``total``; what is counted is the kind's own."""
    error = models.TextField(blank=True, default="")
    cancel_requested = models.BooleanField(default=False)
    actor = models.CharField(max_length=150, blank=True, default="")
    face = models.CharField(max_length=16, blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    """When its first chunk had what it needs."""
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ("-id",)
        indexes = (models.Index(fields=("state", "heartbeat_at"), name="%(class)s_alive"),)

    @property
    def active(self) -> bool:
        return self.state in self.ACTIVE

    @property
    def percent(self) -> int:
        return min(100, 100 * self.done // self.total) if self.total else 0

    def silence(self, now: datetime) -> timedelta:
        """For how long nobody has worked on it."""
        return now - (self.heartbeat_at or self.created_at)
