"""Findings that somebody decided to leave as they are. Health and verdicts do not change by that; it is shown beside
them."""

from __future__ import annotations

from datetime import date, datetime

from sessions_app.models import Finding, IgnoredFinding, Session

from .audit import audit_record

REASON_LIMIT = 1_000


class IgnoreRefused(Exception):
    """Nothing is ignored; the words say why."""


def finding_ignore(
    *, session: Session, key: str, reason: str, until: date | None, actor: str, now: datetime, face: str = ""
) -> IgnoredFinding:
    """Ignore a finding of the session, for good or until a day. Raises ``IgnoreRefused``."""
    finding = Finding.objects.filter(session=session, key=key).first()
    if finding is None:
        raise IgnoreRefused("This finding is gone: the session was scanned again since this page was made.")
    reason = reason.strip()[:REASON_LIMIT]
    if not reason:
        raise IgnoreRefused("Say why it is ignored, so that others can tell.")
    if until is not None and until < now.date():
        raise IgnoreRefused("That day is over already.")
    ignored, _ = IgnoredFinding.objects.update_or_create(
        session=session,
        key=key,
        defaults={
            "rule": finding.rule,
            "reason": reason,
            "until": until,
            "actor": actor,
            "created_at": now,
        },
    )
    audit_record(
        action="finding.ignored", actor=actor, now=now, face=face, subject=("session", session.pk),
        session=session.stored_id, rule=finding.rule, key=key, reason=reason, until=until.isoformat() if until else "",
    )  # fmt: skip
    return ignored


def finding_mind(*, session: Session, key: str, actor: str, now: datetime, face: str = "") -> None:
    """Stop ignoring it; nothing happens where it is not ignored."""
    found = IgnoredFinding.objects.filter(session=session, key=key).first()
    if found is None:
        return
    rule = found.rule
    found.delete()
    audit_record(
        action="finding.minded", actor=actor, now=now, face=face, subject=("session", session.pk),
        session=session.stored_id, rule=rule, key=key,
    )  # fmt: skip
