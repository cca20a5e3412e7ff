"""Attaching, importing and scanning a database of 100,000 parts, and opening one of its sessions: ``python -m
bench.importing``."""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

TURNS, STEPS = 20, 3
PARTS_OF_A_SESSION = TURNS * (1 + STEPS * 5 + 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=125)
    sessions = parser.parse_args().sessions
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SUTURE_DATA_DIR": f"{folder}/data", "DJANGO_SETTINGS_MODULE": "sessions_app.settings"}
        import django

        django.setup()
        _run(Path(folder), sessions)


def _run(folder: Path, sessions: int) -> None:
    from django.utils import timezone

    from sessions_app.models import Session
    from sessions_app.services import importing, reading
    from sessions_app.services.database import database_prepare
    from tests.factories.bigstore import make_store

    path = folder / "opencode.db"
    make_store(path, sessions=sessions, turns=TURNS, steps=STEPS, output=2_000)
    parts = sessions * PARTS_OF_A_SESSION
    print(f"import: {sessions} sessions, {parts:,} parts, {path.stat().st_size / 1e6:.0f} MB")
    database_prepare()
    spent = _watched()

    started = time.perf_counter()
    source, job = importing.source_attach(path=path, actor="bench", now=timezone.now())
    print(f"  attach and list        {time.perf_counter() - started:8.2f} s")

    started = time.perf_counter()
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    whole = time.perf_counter() - started
    print(f"  import and scan        {whole:8.2f} s   {whole * 100_000 / parts:.1f} s per 100,000 parts")
    for name, seconds in spent.items():
        print(f"    {name:20} {seconds:8.2f} s   {seconds * 100_000 / parts:.1f} s per 100,000 parts")

    session = Session.objects.filter(source=source).select_related("source")[0]
    _timed("open it, unchanged", lambda: reading.session_refresh(session=session, now=timezone.now()))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE part SET time_updated = 1 WHERE id = (SELECT min(id) FROM part WHERE session_id = ?)",
            (session.stored_id,),
        )
    connection.close()
    _timed("open it, one row new", lambda: reading.session_refresh(session=session, now=timezone.now()))

    started = time.perf_counter()
    job = importing.source_sync(source=source, actor="bench", now=timezone.now())
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    job.refresh_from_db()
    print(f"  sync                   {time.perf_counter() - started:8.2f} s   {job.done} sessions read")
    print(f"  peak memory            {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")


def _watched() -> dict[str, float]:
    """Seconds spent in the steps of reading a session, filled while they run."""
    from sessions_app.domain import dialects, rowdoc
    from sessions_app.services import reading
    from sessions_app.stores import SqliteStore

    spent: dict[str, float] = defaultdict(float)
    places: list[tuple[Any, str, str]] = [
        (SqliteStore, "read", "read"),
        (rowdoc, "rows_hash", "hash"),
        (dialects, "decode", "decode"),
        (reading, "session_write", "mirror"),
        (reading, "scan", "scan"),
        (reading, "scan_write", "keep findings"),
    ]
    for holder, attribute, name in places:
        setattr(holder, attribute, _counting(getattr(holder, attribute), spent, name))
    return spent


def _counting(function: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    def timed(*given: Any, **named: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*given, **named)
        finally:
            spent[name] += time.perf_counter() - started

    return timed


def _timed(what: str, action: Callable[[], object]) -> None:
    started = time.perf_counter()
    action()
    print(f"  {what:22} {(time.perf_counter() - started) * 1000:8.1f} ms")


if __name__ == "__main__":
    main()
