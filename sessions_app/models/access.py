"""Ways in: one-time login links and API tokens. Only digests are kept."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models

from .sources import Source


class LoginLink(models.Model):
    """A link that signs its user in once, printed by ``serve`` on loopback."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="login_links")
    digest = models.CharField(max_length=64, unique=True)
    """SHA-256 of the token in the link."""
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"login link {self.pk}"


class Scope(models.TextChoices):
    """What a token may do, where its user may do it too; none holds another."""

    READ = "read", "Read sessions"
    REPAIR = "repair", "Repair sessions"
    ADMINISTER = "administer", "Add and remove stores"


def all_scopes() -> list[str]:
    return list(Scope.values)


class ApiToken(models.Model):
    """A bearer token of the REST API; it may do what its user may, within its scopes and sources."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=all_scopes)
    """Values of ``Scope``."""
    all_sources = models.BooleanField(default=True)
    """Else only ``sources``; a token whose sources were deleted reaches nothing."""
    sources = models.ManyToManyField(Source, blank=True, related_name="api_tokens")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name

    @property
    def scope_words(self) -> str:
        """ "read, repair"."""
        return ", ".join(self.scopes)

    @property
    def source_words(self) -> str:
        """Which sources it reaches."""
        return "all" if self.all_sources else ", ".join(source.name for source in self.sources.all()) or "none any more"

    def live(self, now: datetime) -> bool:
        """It still opens something, if its user may sign in."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
