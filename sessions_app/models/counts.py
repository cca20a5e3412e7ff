"""How many sessions are of a kind, kept so that lists need not count them."""

from __future__ import annotations

from django.db import models

from .sessions import Session
from .sources import Source


class SessionCount(models.Model):
    """Sessions of a source that have this health and are of this kind: any, of a model, with a finding of a rule, or
    refused by a protocol. Changed in the transaction that changes the sessions (``services/counting``)."""

    class Kind(models.TextChoices):
        ANY = "any", "Any session"
        MODEL = "model", "Model last used"
        RULE = "rule", "Rule"
        REJECTED = "rejected", "Rejected by"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="counts")
    kind = models.CharField(max_length=16, choices=Kind)
    value = models.CharField(max_length=511, blank=True, default="")
    """``provider/model``, a rule's code, a protocol; "" for any."""
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
