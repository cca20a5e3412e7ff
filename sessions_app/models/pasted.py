"""Error texts that people pasted, kept for a while so that what was read in them has an address."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class PastedError(models.Model):
    """A text and the session it was looked for in. ``key`` is a keyed hash of both: the same paste has the same
    address, and nobody can make an address to ask whether something was pasted."""

    key = models.CharField(max_length=64, unique=True)
    text = models.TextField()
    """Without what looks like a key or password."""
    asked = models.CharField(max_length=255, blank=True, default="")
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return self.key

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:located", args=(self.key,))
