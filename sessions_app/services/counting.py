"""Keeping ``SessionCount`` true: whoever changes health, model, findings or verdicts of sessions says so here, in the
same transaction. A nightly recount mends what a fault of ours left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db import connection, transaction
from django.db.models import Count, F, Value
from django.db.models.functions import Concat

from sessions_app.models import Finding, Session, SessionCount, Source, Verdict

type Counted = tuple[str, str, str]
"""Kind, value, health: what a session counts as."""

_ADD = """INSERT INTO {table} (source_id, kind, value, health, sessions) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (source_id, kind, value, health) DO UPDATE SET sessions = {table}.sessions + excluded.sessions"""


def session_locked(session: Session) -> Session:
    """What the session counts as until now, for ``counted_as``. Others wait for this transaction (PostgreSQL)."""
    return Session.objects.select_for_update().only("health", "provider", "model", "rejected_by").get(pk=session.pk)


def counted_as(session: Session, rules: Iterable[str] = ()) -> frozenset[Counted]:
    """What a session counts as that has findings of these rules."""
    kinds = SessionCount.Kind
    found = [(kinds.ANY, ""), *((kinds.RULE, rule) for rule in rules)]
    found += [(kinds.REJECTED, protocol) for protocol in session.rejected_by]
    if session.model:
        found.append((kinds.MODEL, session.model_name))
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
    """Count everything anew, a source at a time."""
    for source_id in Source.objects.values_list("pk", flat=True):
        with transaction.atomic():
            SessionCount.objects.filter(source=source_id).delete()
            SessionCount.objects.bulk_create(_counted(source_id))


def _counted(source_id: int) -> list[SessionCount]:
    sessions = Session.objects.filter(source=source_id).order_by()
    of_source = {"session__source": source_id}
    name = Concat("provider", Value("/"), "model")
    one = Count("session", distinct=True)
    any_one = sessions.values_list(Value(""), "health").annotate(n=Count("pk"))
    models = sessions.exclude(model="").values_list(name, "health").annotate(n=Count("pk"))
    rules = Finding.objects.filter(**of_source).order_by().values_list("rule", F("session__health")).annotate(n=one)
    rejected = Verdict.objects.filter(accepted=False, **of_source).order_by()
    protocols = rejected.values_list("protocol", F("session__health")).annotate(n=one)
    kinds = SessionCount.Kind
    return [
        SessionCount(source_id=source_id, kind=kind, value=value, health=health, sessions=number)
        for kind, rows in (
            (kinds.ANY, any_one),
            (kinds.MODEL, models),
            (kinds.RULE, rules),
            (kinds.REJECTED, protocols),
        )
        for value, health, number in rows
    ]
