"""Importing a store, reading it again, searching it, repairing all of it: what ``bench.table`` asks of a mirror."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import connections

from bench.pages import Browser, Page, named
from bench.suture import Clock, begin, imported, timed


def measure(path: str) -> dict[str, Any]:
    """``path`` is copied first, since the repair writes to it."""
    own = Path("attached.db").resolve()
    shutil.copyfile(path, own)
    begin()
    found = _import(own)
    found["resync"] = _resync(own)
    pages = _pages()
    browser = Browser()
    found["pages"] = {name: browser.visit(page) for name, page in pages.items()}
    found["bulk"] = timed(_repair_all)
    return found


def _import(path: Path) -> dict[str, Any]:
    """``first``: seconds by the clock until a session can be opened; ``rows``: until all can; ``import``: until all are
    scanned."""
    from sessions_app.models import Session

    clock, over = Clock(), threading.Event()
    seen: dict[str, Any] = {}

    def look() -> None:
        while not over.wait(0.25 if "first" in seen else 0.05):  # what looks takes time from what is looked at
            if "first" not in seen and Session.objects.filter(imported_at__isnull=False).exists():
                seen["first"] = clock.wall
            if "first" in seen and not Session.objects.filter(imported_at=None).exists():
                seen["rows"] = clock.read()
                break
        connections.close_all()

    watch = threading.Thread(target=look)
    watch.start()
    imported(path)
    seen["import"] = clock.read()
    over.set()
    watch.join()
    assert not Session.objects.filter(scanned_at=None).exists(), "some sessions were not scanned"
    return {"first": seen["import"]["wall"], "rows": seen["import"]} | seen


def _resync(path: Path) -> dict[str, float]:
    from django.utils import timezone

    from sessions_app.models import Session, Source
    from sessions_app.services import importing
    from sessions_app.tasks import job_enqueue

    stored = Session.objects.order_by("part_count").values_list("stored_id", flat=True)[Session.objects.count() // 2]
    with closing(sqlite3.connect(path)) as connection, connection:
        changed = (
            "UPDATE part SET time_updated = time_updated + 1 WHERE id = (SELECT max(id) FROM part WHERE session_id = ?)"
        )
        connection.execute(changed, (stored,))

    def sync() -> None:
        job_enqueue(importing.source_sync(source=Source.objects.get(), actor="bench", now=timezone.now()))

    return timed(sync)


def _pages() -> dict[str, Page]:
    """What is looked at on a real mirror, rather than on copies of a few sessions."""
    from sessions_app.models import Part, Session

    rare = Part.objects.filter(kind="tool").order_by("pk")[100].call_id
    said = str(Part.objects.filter(kind="text").order_by("pk")[200].value)
    words = said.partition('"text":"')[2].split()
    session = Session.objects.order_by("-part_count")[0].pk
    return {
        "search in conversations, a call id": Page(f"/search/?q={rare}"),
        "search in conversations, two words": Page(f"/search/?q={words[2]}+{words[3]}"),
        "search in conversations, nothing": Page("/search/?q=zzqqxxyy"),
        "sources": Page("/sources/"),
        "one source": Page("/sources/1/"),
        "bulk repair, its preview": Page("/bulk/?preset=repair-safe"),
        "history of repairs": Page("/repairs/"),
        "findings of a session": Page(f"/sessions/{session}/findings/"),
        "stored rows of a session": Page(f"/sessions/{session}/raw/"),
        "hand back a session": named("handback", "more", of=session),
    }


def _repair_all() -> None:
    from django.utils import timezone

    from sessions_app.domain.wish import Wish
    from sessions_app.selectors.filters import SessionFilter
    from sessions_app.services import bulk
    from sessions_app.tasks import job_enqueue

    batch = bulk.bulk_start(
        selection=bulk.Selection(filter=SessionFilter()),
        wish=Wish(),
        reason="bench",
        actor="bench",
        face="command",
        now=timezone.now(),
    )
    job_enqueue(batch)
    batch.refresh_from_db()
    assert batch.repaired and not batch.failed, [one for one in batch.results if one["outcome"] == "failed"][:3]
