"""How long the server takes for pages over 100,000 sessions, and of a session of 20,000 parts: ``python -m
bench.pages``.

The requests go through the whole stack of the project (middleware, view, template) in this process. ``queries`` must
not grow with rows.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.paths import CORPUS

SESSIONS = 100_000
LIST, LONG = 0.1, 2.0
"""Seconds of processor time that a list and a page of the long session may take at most. The long session's file is
attached, so its page reads it anew; a search inside conversations stops by itself after two seconds."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SUTURE_DATA_DIR": f"{folder}/data", "DJANGO_SETTINGS_MODULE": "sessions_app.settings"}
        import django

        django.setup()
        return _run(Path(folder))


def _run(folder: Path) -> int:
    from django.contrib.auth.models import User
    from django.test import Client

    from sessions_app.models import Part
    from sessions_app.selectors.filterfields import SORTS
    from sessions_app.services.database import database_prepare

    database_prepare()
    long = _attached(folder / "long.db", sessions=1, turns=1053, steps=3)
    _attached(folder / "many.db", sessions=60, turns=2, steps=2)
    for path in sorted(CORPUS.glob("*.db"))[::8]:
        _imported(path)
    _multiplied(long.pk)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("bench"))
    last = Part.objects.filter(session=long).order_by("-position")[0].stored_id
    pages: dict[str, tuple[str, float]] = {
        "list of 100,000 sessions": ("/", LIST),
        **{f"list, by {sort}": (f"/?sort={sort}", LIST) for sort in SORTS if sort != "health"},
        "list, page 1000": ("/?page=1000", LIST),
        "list, one health, newest first": ("/?health=healthy&sort=-updated", LIST),
        "list, one rule": ("/?rule=duplicate-call-id-in-message", LIST),
        "list, one rule, newest first": ("/?rule=stuck-tool&sort=-updated", LIST),
        "list, rejected": ("/?rejected=gemini", LIST),
        "list, a model": ("/?model=fake/fake-1", LIST),
        "list, repaired": ("/?repaired=yes", LIST),
        "list, directory": ("/?directory=proj", LIST),
        "list, large ones": ("/?min_parts=30", LIST),
        "list, words of a title": ("/?q=fox-77", LIST),
        "list, words that nothing has": ("/?q=heron", LIST),
        "search inside conversations": ("/search/?q=call_7", LONG),
        "long session, its start": (f"/sessions/{long.pk}/", LONG),
        "long session, at its last part": (f"/sessions/{long.pk}/?at={last}", LONG),
        "long session, find": (f"/sessions/{long.pk}/?find=call_0_900_1", LONG),
        "long session, findings": (f"/sessions/{long.pk}/findings/", LONG),
    }
    print(f"{'page':36} {'ms':>8} {'queries':>8} {'kB':>8}")
    slow = [what for what, (url, limit) in pages.items() if _page(client, what, url) > limit]
    print(f"too slow: {', '.join(slow)}" if slow else "all in time")
    return 1 if slow else 0


def _attached(path: Path, *, sessions: int, turns: int, steps: int) -> Any:
    from tests.factories.bigstore import make_store

    make_store(path, output=400, sessions=sessions, turns=turns, steps=steps)
    return _imported(path)


def _imported(path: Path) -> Any:
    """A source that was imported as any other; gives one of its sessions."""
    from django.utils import timezone

    from sessions_app.models import Session
    from sessions_app.services import importing

    source, job = importing.source_attach(path=path, actor="bench", now=timezone.now())
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    return Session.objects.filter(source=source)[0]


def _multiplied(long: int) -> None:
    """100,000 sessions out of the few that were imported, each with its findings and verdicts: lists do not look at
    parts."""
    from django.db import connection

    from sessions_app.models import Finding, Session, Verdict
    from sessions_app.services.counting import counts_recount

    seeds = Session.objects.exclude(pk=long).count()
    copies = -(-SESSIONS // seeds)
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
                f"SELECT s.{key} * 100000 + k, {values} FROM {model._meta.db_table} s, n "
                f"WHERE s.{key} < 100000 AND s.{key} <> {long}"
            )
        cursor.execute("ANALYZE")
    counts_recount()


def _page(client: Any, what: str, url: str) -> float:
    """One line of the table; returns the processor seconds of the best of three requests."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    fastest = float("inf")
    for _ in range(3):
        with CaptureQueriesContext(connection) as asked:
            started = time.process_time()
            response = client.get(url)
            fastest = min(fastest, time.process_time() - started)
        assert response.status_code == 200, (url, response.status_code)
    print(
        f"{what:36} {fastest * 1000:8.1f} {len(asked.captured_queries):8} {len(response.content) / 1000:8.0f}",
        flush=True,
    )
    return fastest


if __name__ == "__main__":
    raise SystemExit(main())
