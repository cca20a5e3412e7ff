"""How many sessions are of a kind, kept so that lists need not count them."""

from __future__ import annotations

from django.db import models

from .sessions import Session
from .sources import Source


class SessionCount(models.Model):
    """Sessions of a source that have this health and are of this kind. Changed in the transaction that changes the
    sessions (``services/counting``)."""

    class Kind(models.TextChoices):
        ANY = "any", "Any session"
        MODEL = "model", "Model last used"
        RULE = "rule", "Rule"
        SAFE = "safe", "Rule that blocks it or puts it at risk, and has a safe repair for all of that"
        REJECTED = "rejected", "Rejected by"
        OWN = "own", "Protocol of the own target"
        REFUSED = "refused", "Rule that blocks it, and protocol of the own target"
        RISK = "risk", "Rule that puts it at risk"
        FATE = "fate", "What can be done"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="counts")
    kind = models.CharField(max_length=16, choices=Kind)
    value = models.CharField(max_length=511, blank=True, default="")
    """``provider/model``, a rule's code, a protocol, "rule protocol", a fate; "" for any."""
    health = models.CharField(max_length=16, choices=Session.Health)
    sessions = models.IntegerField(default=0)

    class Meta:
        ordering = ("kind", "value", "health")
        constraints = (
            models.UniqueConstraint(fields=("source", "kind", "value", "health"), name="session_count_once"),
        )
        indexes = (models.Index(fields=("kind", "value", "health", "sessions"), name="session_count_of"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.value} {self.health}: {self.sessions}"


class HealthDay(models.Model):
    """How the sessions of a source stood at the end of a day (UTC), as far as it was seen: written after imports, scans
    and batches (``services/counting``)."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    blocked = models.PositiveIntegerField(default=0)
    at_risk = models.PositiveIntegerField(default=0)
    healthy = models.PositiveIntegerField(default=0)
    unreadable = models.PositiveIntegerField(default=0)
    not_scanned = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("day", "source")
        constraints = (models.UniqueConstraint(fields=("source", "day"), name="health_once_a_day"),)
        indexes = (models.Index(fields=("day",), name="health_of_day"),)

    def __str__(self) -> str:
        return f"{self.day}: {self.blocked} blocked"
