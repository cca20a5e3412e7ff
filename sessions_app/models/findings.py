"""What a scan found: findings and verdicts of a session."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from .sessions import Session, place_address


class Finding(models.Model):
    """One fault that a rule found, at named messages and parts."""

    class Severity(models.TextChoices):
        BLOCKED = "blocked", "Blocked"
        AT_RISK = "at-risk", "At risk"
        INFO = "info", "Info"

    class Safety(models.TextChoices):
        SAFE = "safe", "Safe"
        LOSSY = "lossy", "Lossy"
        MANUAL = "manual", "Manual"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="findings")
    key = models.CharField(max_length=255)
    rule = models.CharField(max_length=64)
    severity = models.CharField(max_length=16, choices=Severity)
    safety = models.CharField(max_length=16, choices=Safety)
    messages = models.JSONField(default=list)
    parts = models.JSONField(default=list)
    summary = models.TextField()
    line = models.CharField(max_length=100, blank=True, default="")
    """What is wrong in one line: its rule's, with the tools it is about."""
    place = models.CharField(max_length=120, blank=True, default="")
    """"bash call 2, turn 7"; "" where it is at no message or part."""
    names = models.JSONField(default=dict)
    """Stored id -> place, of the messages and parts that stand in it and in its words."""
    details = models.JSONField(default=dict)
    position = models.PositiveIntegerField(default=0)
    """Order of the fault in the session: "Fault 2 of 5"."""

    class Meta:
        ordering = ("position", "id")
        constraints = (models.UniqueConstraint(fields=("session", "key"), name="finding_once_per_session"),)
        indexes = (
            models.Index(fields=("rule", "session"), name="finding_of_rule"),
            models.Index(fields=("session", "rule"), name="finding_of_session"),
            models.Index(fields=("session", "position"), name="finding_in_order"),
        )

    def __str__(self) -> str:
        return f"{self.rule}: {self.summary}"

    def get_absolute_url(self) -> str:
        """Its place, or the findings of its session."""
        places = (*self.parts, *self.messages)
        return (
            place_address(self.session_id, places[0])
            if places
            else reverse("sessions_app:findings", args=(self.session_id,))
        )


class Verdict(models.Model):
    """What one protocol's provider would answer."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="verdicts")
    protocol = models.CharField(max_length=32)
    accepted = models.BooleanField()
    own = models.BooleanField(default=False)
    """It is the verdict of the session's own target."""
    refusal = models.TextField(blank=True, default="")
    violations = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    not_checkable = models.JSONField(default=list)
    details = models.JSONField(default=dict)
    """As the domain's: the kind of a refusal with its place, "writer": "not verified", "opens_with"."""
    target = models.JSONField(default=dict)

    class Meta:
        ordering = ("session", "protocol")
        constraints = (models.UniqueConstraint(fields=("session", "protocol"), name="verdict_once_per_protocol"),)
        indexes = (
            models.Index(
                fields=("protocol", "session", "accepted"), name="verdict_refused", condition=models.Q(accepted=False)
            ),
        )

    def __str__(self) -> str:
        return f"{self.protocol}: {'accepted' if self.accepted else 'rejected'}"

    def get_absolute_url(self) -> str:
        return f"{reverse('sessions_app:payload', args=(self.session_id,))}?protocol={self.protocol}"

    @property
    def opens_with(self) -> str:
        """The task that the client runs before the request that is judged; "" = none."""
        return str(self.details.get("opens_with", ""))
