"""A source in one look: as ``doctoring``, with the states of its sessions as they were scanned last."""

from __future__ import annotations

from django.db.models import Count

from sessions_app.models import Finding, Session, Source
from sessions_app.stores.base import Store

from .doctoring import HEALTHS, Checkup, States, examined
from .handback.storereport import HIDING, StoreReport, store_report


def source_checkup(*, source: Source, store: Store, report: StoreReport | None = None) -> Checkup:
    """``store``: the source's, open; ``report``: what was found in it already. Raises ``StoreError``."""
    return examined(store, source_states(source), report or store_report(store=store))


def source_states(source: Source) -> States:
    sessions = Session.objects.filter(source=source, missing_since=None)
    health = dict(sessions.order_by().values_list("health").annotate(count=Count("pk")))
    findings = Finding.objects.filter(session__in=sessions)
    hidden = findings.filter(rule__in=HIDING).values("session").distinct().count()
    refused = findings.filter(rule="last-call-refused").values("session").distinct().count()
    return States({name: health.get(name, 0) for name in (*HEALTHS, "not-scanned")}, hidden, refused)
