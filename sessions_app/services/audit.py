"""Writing the audit trail."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from sessions_app.domain.values import plain
from sessions_app.models import AuditEntry, RepairBatch, Source


def audit_record(
    *,
    action: str,
    actor: str,
    now: datetime,
    face: str = "",
    batch: uuid.UUID | None = None,
    subject: tuple[str, object] = ("", ""),
    **data: Any,
) -> AuditEntry:
    """Append one entry. ``action`` is one of ``models.ACTIONS``, whose sentence names what ``data`` holds; ``subject``
    is (kind, id); entries of one user action share ``batch``. Raises ``ValueError`` for an action that is not
    registered."""
    return AuditEntry.objects.create(
        action=action,
        actor=actor,
        face=face,
        batch=batch or uuid.uuid4(),
        object_type=subject[0],
        object_id=str(subject[1]),
        data=plain(data),
        created_at=now,
    )


def source_audit(*, action: str, source: Source, actor: str, face: str, now: datetime, **data: Any) -> AuditEntry:
    """An entry about a source."""
    subject = ("source", source.pk)
    return audit_record(action=action, actor=actor, face=face, now=now, subject=subject, name=source.name, **data)


def batch_audit(*, action: str, batch: RepairBatch, actor: str, face: str, now: datetime, **data: Any) -> AuditEntry:
    """An entry about a bulk repair."""
    number = batch.public_id
    return audit_record(action=action, actor=actor, face=face, now=now, batch=number, subject=("batch", number), **data)


def secret_read(
    *, what: str, actor: str, face: str, now: datetime, subject: tuple[str, object] = ("", "")
) -> AuditEntry:
    """What looks like a key was given out unmasked, to somebody who may see it."""
    return audit_record(action="secret.read", actor=actor, face=face, now=now, subject=subject, what=what[:300])
