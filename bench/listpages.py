"""The list of 100,000 sessions, by every order, filter and search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.pages import Browser, Page
from bench.suture import begin, imported


def measure(path: str, sessions: int) -> dict[str, Any]:
    """``path``: a store whose few sessions are copied until there are ``sessions``; lists do not look at parts."""
    begin()
    imported(Path(path))
    multiply(sessions)
    browser = Browser()
    return {"pages": {name: browser.visit(page) for name, page in _pages().items()}}


def _pages() -> dict[str, Page]:
    from django.urls import reverse

    from sessions_app.models import Finding, Session
    from sessions_app.selectors.filterfields import SORTS

    here = reverse("sessions_app:sessions")
    rule = Finding.objects.filter(severity="blocked").order_by("pk")[0].rule
    named = Session.objects.exclude(provider="").order_by("pk")[0]
    return {
        "list": Page(here),
        **{f"list, by {sort}": Page(f"{here}?sort={sort}") for sort in SORTS if sort != "health"},
        "list, page 1000": Page(f"{here}?page=1000"),
        "list, healthy, newest first": Page(f"{here}?health=healthy&sort=-updated"),
        "list, blocked, by size": Page(f"{here}?health=blocked&sort=-size"),
        "list, one rule": Page(f"{here}?rule={rule}"),
        "list, one rule, newest first": Page(f"{here}?rule={rule}&sort=-updated"),
        "list, rejected by one": Page(f"{here}?rejected=gemini"),
        "list, one model": Page(f"{here}?model={named.provider}/{named.model}"),
        "list, one source": Page(f"{here}?source={named.source_id}"),
        "list, repaired": Page(f"{here}?repaired=yes"),
        "list, directory": Page(f"{here}?directory=shop"),
        "list, large ones": Page(f"{here}?min_parts=300"),
        "list, words of a title": Page(f"{here}?q=fox-77"),
        "list, one session's words": Page(f"{here}?q=fox-777"),
        "list, words that nothing has": Page(f"{here}?q=heronsandegrets"),
        "list, rule and words, by title": Page(f"{here}?rule={rule}&q=fox-7&sort=title"),
        "list, as htmx asks": Page(f"{here}?sort=-updated", {"HX-Request": "true", "HX-Target": "session-list"}),
    }


def multiply(wanted: int) -> None:
    """Copy the sessions, with findings and verdicts, until there are ``wanted``."""
    from django.db import connection

    from sessions_app.models import Finding, Session, Verdict
    from sessions_app.services.counting import counts_recount

    copies = -(-wanted // Session.objects.count())
    changes = {
        "stored_id": "s.stored_id || '_' || k",
        "title": "s.title || ' fox-' || k",
        "search": "s.search || ' fox-' || k",
        "time_updated": "s.time_updated + k * 1000 + s.id",
    }
    numbers = f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {copies}) "
    with connection.cursor() as cursor:
        for model, key in ((Session, "id"), (Finding, "session_id"), (Verdict, "session_id")):
            names = [str(f.column) for f in model._meta.concrete_fields if f.column not in ("id", "session_id")]
            columns = ", ".join(f'"{name}"' for name in (key, *names))
            values = ", ".join((changes if model is Session else {}).get(name, f's."{name}"') for name in names)
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({columns}) {numbers} "
                f"SELECT s.{key} * 100000 + k, {values} FROM {model._meta.db_table} s, n WHERE s.{key} < 100000"
            )
        cursor.execute("ANALYZE")
    counts_recount()
