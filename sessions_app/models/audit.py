"""The audit trail: what was done by whom, append-only."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NoReturn

from django.db import models

ACTIONS: Mapping[str, str] = {
    "source.attached": "{actor} attached {name}",
    "source.uploaded": "{actor} uploaded {name}",
    "source.synced": "{actor} read {name} again: {changed} sessions changed",
    "source.input": "{actor} said what the models of {name} read: {input}",
    "source.deleted": "{actor} deleted {name} and everything imported from it",
    "source.recovered": "{actor} recovered the damaged {name} into a new file; {lost} rows are lost",
    "source.tidied": "{actor} took {count} rows that belong nowhere out of {name}",
    "source.slimmed": "{actor} slimmed {name}: {before} bytes became {after}; the old file is {kept}",
    "source.old-forgotten": "{actor} deleted the old file of {name}, {bytes} bytes",
    "source.relinked": "{actor} filed {count} sessions of {name} under {new}, which was {old}",
    "source.adopted": "{actor} brought {count} sessions of {name} into {into}",
    "import.cancelled": "{actor} cancelled the import of {name}",
    "repair.applied": "{actor} repaired {session}: {changes} rows changed",
    "repair.refused": "A repair of {session} by {actor} was refused: {why}",
    "repair.undone": "{actor} took repair {repair} of {session} back",
    "bulk.started": "{actor} started a bulk repair of {count} sessions",
    "bulk.cancelled": "{actor} cancelled bulk repair {batch}",
    "bulk.undone": "{actor} took bulk repair {batch} back",
    "finding.ignored": "{actor} chose to ignore {rule} in {session}: {reason}",
    "finding.minded": "{actor} no longer ignores {rule} in {session}",
    "export.made": "{actor} exported {session} as {form}",
    "secret.revealed": "{actor} looked at a masked value in {session}",
    "secret.read": "{actor} was given what looks like a key, unmasked: {what}",
    "login.failed": "{actor} could not sign in: a wrong name or password, from {address}",
    "login.locked": "{actor} was locked out after too many wrong passwords from {address}",
    "login.link": "{actor} signed in with a one-time link",
    "token.made": "{actor} made the API token {name} for {user} with the scopes {scopes}",
    "token.revoked": "{actor} revoked the API token {name}",
    "probe.run": "{actor} asked {target} whether it accepts {session}",
    "session.compacted": "{actor} compacted {session}",
}
"""Registered actions and the sentence that tells each; the names in braces are ``data`` (and ``actor``)."""


class AuditIsAppendOnly(Exception):
    """An audit entry was to be changed or deleted."""


class AuditEntries(models.QuerySet["AuditEntry"]):
    """Without the ways around ``save`` and ``delete``."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise AuditIsAppendOnly("audit entries are not changed")

    def delete(self) -> NoReturn:
        raise AuditIsAppendOnly("audit entries are not deleted")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AuditIsAppendOnly("audit entries are not changed")


class AuditEntry(models.Model):
    """One thing that was done. ``batch`` is shared by all entries of one user action."""

    action = models.CharField(max_length=64)
    actor = models.CharField(max_length=150)
    """The user's name as it was, or "command", "worker"; no key to the user, who may be deleted."""
    face = models.CharField(max_length=16, blank=True, default="")
    batch = models.UUIDField(default=uuid.uuid4)
    object_type = models.CharField(max_length=32, blank=True, default="")
    object_id = models.CharField(max_length=64, blank=True, default="")
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    objects = AuditEntries.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name_plural = "audit entries"
        indexes = (
            models.Index(fields=("-created_at", "-id"), name="audit_newest_first"),
            models.Index(fields=("object_type", "object_id"), name="audit_object"),
            models.Index(fields=("batch",), name="audit_batch"),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk or not self._state.adding:
            raise AuditIsAppendOnly("audit entries are not changed")
        if self.action not in ACTIONS:
            raise ValueError(f"no registered audit action: {self.action}")
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AuditIsAppendOnly("audit entries are not deleted")

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return ACTIONS.get(self.action, self.action).format_map(_Words({**self.data, "actor": self.actor or "someone"}))


class _Words(dict[str, Any]):
    """Leaves a gap where old entries lack a word."""

    def __missing__(self, key: str) -> str:
        return "?"
