"""Scanning: what the rules and the protocols say of a session, kept beside it."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Any

import structlog
from django.db import connection, transaction

from sessions_app.domain import dialects, values
from sessions_app.domain import model as domain
from sessions_app.domain.rules import Facts
from sessions_app.domain.rules import Finding as DomainFinding
from sessions_app.domain.scan import SessionScan, scan
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Verdict as DomainVerdict
from sessions_app.domain.wire.verdict import Violation
from sessions_app.models import Finding, Session, Verdict
from sessions_app.selectors.rows import session_rows
from sessions_app.services.storefacts import session_facts, source_facts

from .counting import counted_as, counts_change, session_locked
from .rulesversion import rules_version

log = structlog.get_logger(__name__)


def session_scan(*, session: Session, now: datetime, facts: Facts | None = None, force: bool = False) -> bool:
    """Scan an imported session out of the mirror; nothing is done where rows and rules are those of the last scan.

    Returns whether it was scanned.
    """
    if session.imported_at is None or (not force and scan_is_current(session)):
        return False
    rows = session_rows(session)
    decoded = dialects.decode(rows)
    known = session_facts(facts or source_facts(source=session.source, now=now), rows)
    scan_write(session=session, decoded=decoded, result=scan(decoded, facts=known), now=now)
    return True


def scan_is_current(session: Session) -> bool:
    """Neither the rows nor the rules have changed since the last scan."""
    return session.scan_is_current and session.rules_version == rules_version()


def scan_write(*, session: Session, decoded: domain.Session, result: SessionScan, now: datetime) -> None:
    """Keep the result of a scan beside its session, in one transaction."""
    findings = _ordered(decoded, result.findings)
    with transaction.atomic():
        stored = session_locked(session)
        rules = _findings_write(session, findings)
        before = counted_as(stored, rules)
        _verdicts_write(session, result)
        counts = Counter(finding.severity for finding in findings)
        session.blocked_count, session.at_risk_count, session.info_count = (
            counts[severity] for severity in ("blocked", "at-risk", "info")
        )
        session.health = Session.Health(result.health)
        session.health_rank = Session.RANK[session.health]
        session.reasons = values.plain(result.reasons)
        session.rejected_by = result.rejected_by
        session.target = target_document(result.target) if result.target is not None else {}
        session.scanned_at, session.scanned_hash, session.rules_version = (
            now,
            session.rows_hash,
            rules_version(),
        )
        session.save(
            update_fields=(
                *(
                    "blocked_count",
                    "at_risk_count",
                    "info_count",
                    "health",
                    "health_rank",
                    "reasons",
                    "rejected_by",
                ),
                *("target", "scanned_at", "scanned_hash", "rules_version"),
            )
        )
        after = counted_as(session, {finding.rule for finding in findings})
        counts_change(source_id=session.source_id, gone=before, came=after)


def target_document(target: Target) -> dict[str, Any]:
    """A target as JSON has it."""
    document: dict[str, Any] = values.plain(asdict(target))
    return document


_FINDING = ("rule", "severity", "safety", "messages", "parts", "summary", "details", "position")


def _findings_write(session: Session, findings: list[DomainFinding]) -> set[str]:
    """Findings that are found again keep their primary key. Returns the rules of those that were there."""
    known = dict(Finding.objects.filter(session=session).values_list("key", "rule"))
    made = {
        values.key(finding.key): (
            finding.rule,
            finding.severity,
            finding.safety,
            json.dumps(values.plain(finding.messages)),
            json.dumps(values.plain(finding.parts)),
            values.shown(finding.summary),
            json.dumps(values.plain(dict(finding.details))),
            position,
        )
        for position, finding in enumerate(findings)
    }
    gone = [key for key in known if key not in made]
    for start in range(0, len(gone), 500):
        Finding.objects.filter(session=session, key__in=gone[start : start + 500]).delete()
    table = connection.ops.quote_name(Finding._meta.db_table)
    columns = ", ".join(connection.ops.quote_name(name) for name in ("session_id", "key", *_FINDING))
    marks = ", ".join(["%s"] * (2 + len(_FINDING)))
    follow = ", ".join(f"{name} = excluded.{name}" for name in map(connection.ops.quote_name, _FINDING))
    put = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT (session_id, key) DO UPDATE SET {follow}"
    with connection.cursor() as cursor:  # a session may have tens of thousands: model objects would take most of a scan
        cursor.executemany(put, [(session.pk, key, *row) for key, row in made.items()])
    return set(known.values())


def _verdicts_write(session: Session, result: SessionScan) -> None:
    own = result.target.protocol if result.target is not None else ""
    Verdict.objects.filter(session=session).exclude(protocol__in=result.verdicts).delete()
    Verdict.objects.bulk_create(
        [_verdict(session, protocol, verdict, protocol == own) for protocol, verdict in result.verdicts.items()],
        update_conflicts=True,
        unique_fields=("session", "protocol"),
        update_fields=(
            "accepted",
            "own",
            "refusal",
            "violations",
            "warnings",
            "not_checkable",
            "details",
            "target",
        ),
    )


def _verdict(session: Session, protocol: str, verdict: DomainVerdict, own: bool) -> Verdict:
    return Verdict(
        session=session,
        protocol=protocol,
        accepted=verdict.accepted,
        own=own,
        refusal=values.shown(verdict.refusal),
        violations=[violation_document(violation) for violation in verdict.violations],
        warnings=[violation_document(violation) for violation in verdict.warnings],
        not_checkable=list(verdict.not_checkable),
        details=values.plain(dict(verdict.details)),
        target=target_document(verdict.target),
    )


def violation_document(violation: Violation) -> dict[str, Any]:
    """A violation as JSON has it."""
    document: dict[str, Any] = values.plain(asdict(violation))
    return document


def _ordered(decoded: domain.Session, findings: list[DomainFinding] | tuple[DomainFinding, ...]) -> list[DomainFinding]:
    """In the order of the conversation, those of the whole session first."""
    place: dict[str, int] = {}
    for message in decoded.messages:
        place.setdefault(message.id, len(place))
        for part in message.parts:
            place.setdefault(part.id, len(place))
    last = len(place)

    def position(finding: DomainFinding) -> int:
        named = finding.parts or finding.messages
        return min((place.get(name, last) for name in named), default=-1)

    return sorted(findings, key=position)


def stale_rescan(*, now: datetime, seconds: float = 4.0) -> bool:
    """Scan sessions that other rules judged, worst and newest first, for about ``seconds``; returns whether more are
    left."""
    deadline = time.monotonic() + seconds
    facts: dict[int, Facts] = {}
    stale = Session.objects.filter(imported_at__isnull=False).exclude(rules_version=rules_version())
    while time.monotonic() < deadline:
        session = stale.select_related("source").order_by("health_rank", "-time_updated", "-id").first()
        if session is None:
            return False
        try:
            if session.source_id not in facts:
                facts[session.source_id] = source_facts(source=session.source, now=now)
            session_scan(session=session, now=now, facts=facts[session.source_id], force=True)
        except Exception:  # one session must not stop the others; it is told and not tried again with these rules
            log.exception("session could not be scanned", session=session.stored_id)
            Session.objects.filter(pk=session.pk).update(
                rules_version=rules_version(), error="Suture failed on this session; see the log."
            )
    return True
