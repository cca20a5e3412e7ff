"""Keeping ``SessionCount`` true: whoever changes health, model, findings or verdicts of sessions says so here, in the
same transaction. A nightly recount mends what a fault of ours left behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet, Sum

from sessions_app.models import Finding, HealthDay, Session, SessionCount, Source

type Counted = tuple[str, str, str]
"""Kind, value, health: what a session counts as."""

type Weighed = tuple[str, str, str]
"""Rule, severity and safety of a finding."""

_FIELDS = ("health", "provider", "model", "rejected_by", "target", "fate")
_ADD = """INSERT INTO {table} (source_id, kind, value, health, sessions) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (source_id, kind, value, health) DO UPDATE SET sessions = {table}.sessions + excluded.sessions"""


def session_locked(session: Session) -> Session:
    """What the session counts as until now, for ``counted_as``, and whether its texts are indexed. Others wait for this
    transaction (PostgreSQL)."""
    return _locked().get(pk=session.pk)


def sessions_locked(keys: Iterable[int]) -> dict[int, Session]:
    """``session_locked`` of many, in one order for all: no two wait crosswise."""
    return {session.pk: session for session in _locked().filter(pk__in=keys).order_by("pk")}


def _locked() -> QuerySet[Session]:
    return Session.objects.select_for_update().only(*_FIELDS, "indexed", "rows_hash")


def counted_as(session: Session, findings: Iterable[Weighed] = ()) -> frozenset[Counted]:
    """What a session with these findings counts as."""
    kinds = SessionCount.Kind
    found = {(kinds.ANY, ""), *((kinds.REJECTED, protocol) for protocol in session.rejected_by)}
    own = str(session.target.get("protocol", ""))
    found |= {(kinds.OWN, own)} if own else set()
    found |= {(kinds.FATE, session.fate)} if session.fate else set()
    found |= {(kinds.MODEL, session.model_name)} if session.model else set()
    safeties: defaultdict[str, set[str]] = defaultdict(set)
    for rule, severity, safety in findings:
        found.add((kinds.RULE, rule))
        if severity == "blocked" and own:
            found.add((kinds.REFUSED, f"{rule} {own}"))
        if severity == "at-risk":
            found.add((kinds.RISK, rule))
        if severity != "info":
            safeties[rule].add(safety)
    found |= {(kinds.SAFE, rule) for rule, all_of in safeties.items() if all_of == {"safe"}}
    return frozenset((str(kind), value, session.health) for kind, value in found)


def counts_change(*, source_id: int, gone: Iterable[Counted] = (), came: Iterable[Counted] = ()) -> None:
    """Sessions of a source no longer count as ``gone`` and count as ``came``, once for each time it is named."""
    change = Counter(came)
    change.subtract(Counter(gone))
    rows = [
        (source_id, *counted, by) for counted, by in sorted(change.items()) if by
    ]  # in order: no two wait crosswise
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_ADD.format(table=SessionCount._meta.db_table), rows)


def counts_recount() -> None:
    """Count everything anew, a source at a time. What others change meanwhile waits, and comes on top."""
    for source in Source.objects.only("pk"):
        with transaction.atomic():
            if connection.vendor == "postgresql":  # SQLite has one writer anyhow
                with connection.cursor() as cursor:
                    cursor.execute(f"LOCK TABLE {SessionCount._meta.db_table} IN EXCLUSIVE MODE")
            SessionCount.objects.filter(source=source).delete()
            SessionCount.objects.bulk_create(
                [
                    SessionCount(source=source, kind=kind, value=value, health=health, sessions=number)
                    for (kind, value, health), number in _counted(source).items()
                ]
            )


def _counted(source: Source) -> Counter[Counted]:
    findings: defaultdict[int, list[Weighed]] = defaultdict(list)
    rows = Finding.objects.filter(session__source=source).order_by()
    for session_id, *weighed in rows.values_list("session_id", "rule", "severity", "safety").iterator():
        findings[session_id].append((weighed[0], weighed[1], weighed[2]))
    found: Counter[Counted] = Counter()
    for session in Session.objects.filter(source=source).order_by().only(*_FIELDS).iterator():
        found.update(counted_as(session, findings.get(session.pk, ())))
    return found


def days_keep(*, now: datetime) -> None:
    """How the sessions of every source stand today, in the place of what was kept for today before."""
    rows = SessionCount.objects.filter(kind=SessionCount.Kind.ANY).order_by().values_list("source", "health")
    by_source: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for source_id, health, number in rows.annotate(n=Sum("sessions")):
        by_source[source_id][health.replace("-", "_")] = max(number, 0)
    columns = [health.replace("-", "_") for health in Session.Health.values]
    HealthDay.objects.bulk_create(
        [
            HealthDay(source_id=source_id, day=now.date(), **{column: counts.get(column, 0) for column in columns})
            for source_id, counts in by_source.items()
        ],
        update_conflicts=True,
        unique_fields=("source", "day"),
        update_fields=columns,
    )
