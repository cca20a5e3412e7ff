"""How long the server takes for pages over 10,000 sessions, and of a session of 20,000 parts: ``python -m
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

SESSIONS = 10_000
LIST, LONG = 0.25, 2.0
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
    from sessions_app.services.database import database_prepare

    database_prepare()
    long = _imported(folder / "long.db", sessions=1, turns=1053, steps=3)
    _multiplied(_imported(folder / "many.db", sessions=20, turns=2, steps=2))
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("bench"))
    last = Part.objects.filter(session=long).order_by("-position")[0].stored_id
    pages: dict[str, tuple[str, float]] = {
        "list of 10,000 sessions": ("/", LIST),
        "list, second page": ("/?page=2", LIST),
        "list, one health, newest first": ("/?health=healthy&sort=-updated", LIST),
        "list, words of a title": ("/?q=fox-77", LIST),
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


def _imported(path: Path, *, sessions: int, turns: int, steps: int) -> Any:
    """A source that was imported as any other; gives one of its sessions."""
    from django.utils import timezone

    from sessions_app.models import Session
    from sessions_app.services import importing
    from tests.factories.bigstore import make_store

    make_store(path, output=400, sessions=sessions, turns=turns, steps=steps)
    source, job = importing.source_attach(path=path, actor="bench", now=timezone.now())
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    return Session.objects.filter(source=source)[0]


def _multiplied(session: Any) -> None:
    """10,000 rows of sessions out of the few of a source, each with its verdicts left out: lists do not look at
    parts."""
    from sessions_app.models import Session

    names = [field.attname for field in Session._meta.concrete_fields if field.attname != "id"]
    rows = list(Session.objects.filter(source_id=session.source_id).values(*names))
    Session.objects.bulk_create(
        Session(
            **{
                **rows[number % len(rows)],
                "stored_id": f"ses_bench{number:06}",
                "title": f"Session of fox-{number}",
                "search": f"session of fox-{number}\n/home/dev/proj\nses_bench{number:06}",
                "time_updated": 1_790_000_000_000 + number,
            }
        )
        for number in range(SESSIONS - len(rows))
    )


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
