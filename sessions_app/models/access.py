"""Ways in: one-time login links and API tokens. Only digests are kept."""

from __future__ import annotations

from django.conf import settings
from django.db import models


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


class ApiToken(models.Model):
    """A bearer token of the REST API; it may do what its user may."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
