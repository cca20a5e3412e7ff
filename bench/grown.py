"""A mirror of so many sessions: what it takes on disk, and how long what looks at all of them takes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from bench.listpages import multiply
from bench.pages import Browser, Page
from bench.suture import begin, imported, timed

LISTED = 20_000
"""Sessions of the store that is listed."""
_PAGES = {
    "list": "",
    "list by findings, one rule": "?rule={rule}&sort=-findings",
    "list, words of a title": "?q=fox-77",
    "list, page 1000": "?page=1000",
}


def measure(path: str, sessions: int) -> dict[str, Any]:
    """Of the store at ``path``: ``import``, seconds of processor a part; ``tables``, bytes a part. Of ``LISTED``
    sessions that are attached: ``attach``, seconds until that answers; ``begin``, seconds to list one and tell its
    state. Of ``sessions`` copies: ``listed``, bytes a session; ``pages`` and ``recount``, seconds; ``report``,
    characters that a batch keeps of a session."""
    begin()
    clock = timed(lambda: imported(Path(path)))
    from django.urls import reverse

    from sessions_app.models import Finding, Part, Session
    from sessions_app.services.counting import counts_recount

    parts, imported_sessions = Part.objects.count(), Session.objects.count()
    before = _tables()
    multiply(sessions)
    after = _tables()
    rule = Finding.objects.order_by("pk")[0].rule
    browser, here = Browser(), reverse("sessions_app:sessions")
    pages = {name: browser.visit(Page(here + url.format(rule=rule))) for name, url in _PAGES.items()}
    return {
        "parts": parts,
        "import": clock["cpu"] / parts,
        "tables": {name: size / parts for name, size in before.items()},
        "listed": (sum(after.values()) - sum(before.values())) / (sessions - imported_sessions),
        "pages": {name: median(page["cpu"] or [page["first"]["cpu"]]) for name, page in pages.items()},
        "recount": timed(counts_recount),
        "report": _report(),
        **_attach(Path(path)),
    }


def _attach(path: Path) -> dict[str, float]:
    from django.utils import timezone

    from sessions_app.models import ImportJob
    from sessions_app.services import importing

    many = Path("many.db").resolve()
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(many)) as connection:
        source.backup(connection)
        connection.executescript("DELETE FROM part; DELETE FROM message; VACUUM;")
        names = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(session)") if row[1] != "id")
        numbers = f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {LISTED // 100})"
        connection.execute(f"INSERT INTO session (id, {names}) {numbers} SELECT id || k, {names} FROM session, n")
        connection.commit()
        count: int = connection.execute("SELECT count(*) FROM session").fetchone()[0]
    attached = timed(lambda: importing.source_attach(path=many, actor="bench", now=timezone.now()))["cpu"]
    job = ImportJob.objects.latest("pk")
    begun = timed(lambda: importing.import_run(job_id=job.pk, clock=timezone.now, seconds=0))["cpu"]
    return {"attach": attached, "begin": (attached + begun) / count}


def _tables() -> dict[str, int]:
    """Bytes of each table with its indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables")
        else:
            cursor.execute(
                "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_master m ON m.name = s.name"
                " WHERE s.aggregate = TRUE GROUP BY m.tbl_name"
            )
        return dict(cursor.fetchall())


def _report() -> float:
    """Characters that a batch keeps of each session that it handled."""
    from django.utils import timezone

    from sessions_app.domain.wish import Wish
    from sessions_app.models import RepairBatch, Session
    from sessions_app.services import bulk
    from sessions_app.tasks import job_enqueue

    few = tuple(Session.objects.filter(health="healthy").order_by("pk").values_list("pk", flat=True)[:20])
    batch = bulk.bulk_start(
        selection=bulk.Selection(ids=few), wish=Wish(), reason="", actor="bench", face="command", now=timezone.now()
    )
    job_enqueue(batch)
    return len(json.dumps(RepairBatch.objects.get(pk=batch.pk).results)) / len(few)
