"""What people arrange for themselves: saved views of the list, findings they chose to ignore."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from sessions_app.models.sessions import Session


class SavedView(models.Model):
    """A filter of the list under a name, with its order and columns."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    query = models.TextField(blank=True, default="")
    """The query string, as ``SessionFilter.to_query`` writes it."""
    columns = models.JSONField(default=list)
    """Columns shown, [] = those that the reader chose."""
    shared = models.BooleanField(default=False)
    """Everybody sees it; only its owner changes it."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("name", "id")
        constraints = (models.UniqueConstraint(fields=("owner", "name"), name="saved_view_name"),)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"{reverse('sessions_app:sessions')}?{self.query}"


class IgnoredFinding(models.Model):
    """A finding that somebody decided to leave as it is. It outlives the scans, which make their findings anew under
    the same key."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="ignored_findings")
    key = models.CharField(max_length=255)
    rule = models.CharField(max_length=64)
    reason = models.TextField()
    until = models.DateField(null=True, blank=True)
    """The last day on which it is ignored, None = until somebody takes it back."""
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (models.UniqueConstraint(fields=("session", "key"), name="ignored_once_per_finding"),)

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:findings", args=(self.session_id,))
