"""Scanning: what the rules and the protocols say of a session, kept beside it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import OperationalError, connection, transaction

from sessions_app.domain import dialects, values
from sessions_app.domain import model as domain
from sessions_app.domain.places import Told, conversation, told
from sessions_app.domain.rules import Facts
from sessions_app.domain.rules import Finding as DomainFinding
from sessions_app.domain.scan import SessionScan, scan
from sessions_app.domain.searchtext import search_blocks
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Verdict as DomainVerdict
from sessions_app.domain.wire.verdict import Violation
from sessions_app.models import Finding, Session, Verdict
from sessions_app.ruletexts import rule_texts
from sessions_app.selectors.rows import session_rows
from sessions_app.services.storefacts import session_facts, source_facts

from .columns import sessions_update
from .counting import Counted, Weighed, counted_as, counts_change, sessions_locked
from .importranges import AWAITED
from .indexing import blocks_write
from .rulesversion import rules_version

log = structlog.get_logger(__name__)


def session_scan(*, session: Session, now: datetime, facts: Facts | None = None, force: bool = False) -> bool:
    """Scan an imported session out of the mirror; nothing is done where rows and rules are those of the last scan.

    Returns whether it was scanned.
    """
    if session.imported_at is None or (not force and scan_is_current(session)):
        return False
    judged_write([_judged_again(session, facts or source_facts(source=session.source, now=now))], now=now)
    return True


def sessions_scan(*, sessions: Sequence[Session], facts: Facts, now: datetime) -> None:
    """Scan sessions of one source out of the mirror and keep the results in one transaction.

    Where this program fails on one, that session says so, and is not tried again with these rules.
    """
    found: list[Judged] = []
    for session in sessions:
        try:
            found.append(_judged_again(session, facts))
        except Exception:  # one session must not stop the others
            log.exception("session could not be scanned", session=session.stored_id)
            scan_failed(session)
    _kept_or_told(found, now)


def _kept_or_told(found: Sequence[Judged], now: datetime) -> None:
    """Keep results together; where that fails, each on its own, so that only the one that cannot be kept is told."""
    try:
        judged_write(found, now=now)
    except OperationalError:  # a locked database, or one that is away: nothing is wrong with the sessions
        raise
    except Exception:
        if len(found) > 1:
            for one in found:
                _kept_or_told([one], now)
            return
        log.exception("scan could not be kept", session=found[0].session.stored_id)
        scan_failed(found[0].session)


def scan_failed(session: Session) -> None:
    """Say that this program failed on a session."""
    Session.objects.filter(pk=session.pk).update(
        rules_version=rules_version(), error="Suture failed on this session; see the log."
    )


def scan_is_current(session: Session) -> bool:
    """Neither the rows nor the rules have changed since the last scan."""
    return session.scan_is_current and session.rules_version == rules_version()


@dataclass(frozen=True, slots=True)
class Judged:
    """What is kept of a scan. ``rows_hash``: of the rows that were scanned; ``was``: what the session had as such."""

    session: Session
    result: SessionScan
    findings: list[DomainFinding]
    said: list[Told]
    turns: int
    """As pages count them, by all parts: whoever copies rows has not seen them yet."""
    blocks: Sequence[bytes] | None
    """For the index, None where the session is in it already."""
    rows_hash: str
    was: str


def _judged_again(session: Session, facts: Facts) -> Judged:
    """A session out of the mirror. One that was only copied so far gets its hash here."""
    rows = session_rows(session)
    decoded = dialects.decode(rows)
    rows_hash = session.rows_hash or dialects.rows_hash(rows)
    return judged(session, decoded, scan(decoded, facts=session_facts(facts, rows)), rows_hash)


def judged(session: Session, decoded: domain.Session, result: SessionScan, rows_hash: str = "") -> Judged:
    """What is kept of a scan, told while the decoded session is at hand."""
    findings = _ordered(decoded, result.findings)
    said = told(decoded, findings, {code: text.line for code, text in rule_texts().items()})
    blocks = None if session.indexed else search_blocks(decoded)
    turns = len(conversation(decoded.messages))
    return Judged(session, result, findings, said, turns, blocks, rows_hash or session.rows_hash, session.rows_hash)


def scan_write(*, session: Session, decoded: domain.Session, result: SessionScan, now: datetime) -> None:
    """Keep the result of a scan beside its session, in one transaction."""
    judged_write([judged(session, decoded, result)], now=now)


_SCANNED = (
    *("blocked_count", "at_risk_count", "info_count", "health", "health_rank", "fate", "reasons", "rejected_by"),
    *("target", "scanned_at", "scanned_hash", "rules_version", "indexed", "rows_hash", "turn_count"),
)


def judged_write(found: Sequence[Judged], *, now: datetime) -> None:
    """Keep the results of scans beside their sessions, of one source, in one transaction. A session whose rows were
    read anew meanwhile is left alone: whoever read them scanned them."""
    if not found:
        return
    with transaction.atomic():
        stored = sessions_locked([one.session.pk for one in found])
        same = [one for one in found if one.session.pk in stored and stored[one.session.pk].rows_hash == one.was]
        weighed = _findings_write(same)
        _verdicts_write(same)
        blocks = {one.session.pk: one.blocks for one in same if one.blocks is not None}
        fresh = {key: wanted for key, wanted in blocks.items() if not stored[key].indexed}
        if fresh:
            blocks_write(fresh)
        gone: list[Counted] = []
        came: list[Counted] = []
        for one in same:
            key = one.session.pk
            gone += counted_as(stored[key], weighed.get(key, ()))
            _settle(one, now, indexed=stored[key].indexed or key in fresh)
            came += counted_as(one.session, [(each.rule, each.severity, each.safety) for each in one.findings])
        sessions_update([one.session for one in same], _SCANNED)
        counts_change(source_id=found[0].session.source_id, gone=gone, came=came)


def _settle(one: Judged, now: datetime, *, indexed: bool) -> None:
    """The session's own columns."""
    session, result = one.session, one.result
    counts = Counter(finding.severity for finding in one.findings)
    session.blocked_count, session.at_risk_count, session.info_count = (
        counts[severity] for severity in ("blocked", "at-risk", "info")
    )
    session.health = Session.Health(result.health)
    session.health_rank = Session.RANK[session.health]
    session.fate, session.turn_count = result.fate, one.turns
    session.reasons = values.plain(result.reasons)
    session.rejected_by = result.rejected_by
    session.target = target_document(result.target) if result.target is not None else {}
    session.rows_hash = session.scanned_hash = one.rows_hash
    session.scanned_at, session.rules_version, session.indexed = now, rules_version(), indexed


def target_document(target: Target) -> dict[str, Any]:
    """A target as JSON has it."""
    document: dict[str, Any] = values.plain(asdict(target))
    return document


_FINDING = (
    *("rule", "severity", "safety", "messages", "parts", "summary", "line", "place", "names", "details", "position"),
)


def _findings_write(found: Sequence[Judged]) -> dict[int, list[Weighed]]:
    """Findings that are found again keep their primary key. Returns those that were there, by session."""
    known: dict[int, dict[str, Weighed]] = {}
    kept = Finding.objects.filter(session__in=[one.session.pk for one in found]).order_by()
    for pk, key, *weighed in kept.values_list("session_id", "key", "rule", "severity", "safety"):
        known.setdefault(pk, {})[key] = (weighed[0], weighed[1], weighed[2])
    made = {one.session.pk: _finding_rows(one) for one in found}
    for pk, keys in known.items():
        gone = [key for key in keys if key not in made[pk]]
        for start in range(0, len(gone), 500):
            Finding.objects.filter(session=pk, key__in=gone[start : start + 500]).delete()
    table = connection.ops.quote_name(Finding._meta.db_table)
    columns = ", ".join(connection.ops.quote_name(name) for name in ("session_id", "key", *_FINDING))
    marks = ", ".join(["%s"] * (2 + len(_FINDING)))
    follow = ", ".join(f"{name} = excluded.{name}" for name in map(connection.ops.quote_name, _FINDING))
    put = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT (session_id, key) DO UPDATE SET {follow}"
    rows = [(pk, key, *row) for pk, keyed in made.items() for key, row in keyed.items()]
    if rows:  # a session may have tens of thousands: model objects would take most of a scan
        with connection.cursor() as cursor:
            cursor.executemany(put, rows)
    return {pk: list(keys.values()) for pk, keys in known.items()}


def _finding_rows(one: Judged) -> dict[str, tuple[Any, ...]]:
    """By key, in the order of ``_FINDING``."""
    return {
        values.key(finding.key): (
            finding.rule,
            finding.severity,
            finding.safety,
            json.dumps(values.plain(finding.messages)),
            json.dumps(values.plain(finding.parts)),
            values.shown(finding.summary),
            values.shown(told.line),
            values.shown(told.place),
            json.dumps(values.plain(told.names)),
            json.dumps(values.plain(dict(finding.details))),
            position,
        )
        for position, (finding, told) in enumerate(zip(one.findings, one.said, strict=True))
    }


def _verdicts_write(found: Sequence[Judged]) -> None:
    wanted = {one.session.pk: one.result.verdicts for one in found}
    kept = Verdict.objects.filter(session__in=wanted).order_by().values_list("pk", "session_id", "protocol")
    gone = [pk for pk, session_id, protocol in kept if protocol not in wanted[session_id]]
    if gone:
        Verdict.objects.filter(pk__in=gone).delete()
    Verdict.objects.bulk_create(
        [
            _verdict(one.session, protocol, verdict, protocol == (one.result.target and one.result.target.protocol))
            for one in found
            for protocol, verdict in one.result.verdicts.items()
        ],
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
    stale = Session.objects.filter(imported_at__isnull=False).exclude(rules_version=rules_version()).exclude(AWAITED)
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
            scan_failed(session)
    return True
