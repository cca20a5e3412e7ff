"""How many text deltas a second go through the processor into a store: ``python -m bench.processor``.

Two stores: an opencode database in a file, and the mirror (a SQLite database of Django's). Deltas come from a list, so
the figure is that of the processor with its persistence; each store is written every 250 ms of the real clock.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

DELTAS = 200_000
PIECE = "word and "
FLOOR = 20_000
"""Text deltas per second that must be reached."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SUTURE_DATA_DIR"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sessions_app.settings")
        import django

        django.setup()
        slow = [
            rate < FLOOR for rate in (_timed("opencode's file", _file_store(folder)), _timed("mirror", _mirror(folder)))
        ]
        from django.db import connections

        connections.close_all()
    return 1 if any(slow) else 0


def _file_store(folder: str) -> Any:
    from sessions_app.stores.fileturns import FileTurnStore

    path = _database(Path(folder) / "file.db")
    return FileTurnStore(path, "ses_bench")


def _mirror(folder: str) -> Any:
    from django.core.management import call_command
    from django.utils import timezone

    from sessions_app.models import Session, Source
    from sessions_app.services.importing import import_run, source_attach
    from sessions_app.services.mirrorturns import MirrorTurnStore

    call_command("migrate", verbosity=0)
    path = _database(Path(folder) / "mirror.db")
    source, job = source_attach(path=path, actor="bench", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    Source.objects.filter(pk=source.pk).update(origin="uploaded")
    return MirrorTurnStore(Session.objects.select_related("source").get(stored_id="ses_bench"))


def _timed(name: str, store: Any) -> float:
    from sessions_app.domain.processor import Dialogue, Engine, Speaker, Surroundings, Usage, V1Shape
    from sessions_app.domain.processor.events import (
        Event,
        Finish,
        StepFinish,
        StepStart,
        TextDelta,
        TextEnd,
        TextStart,
    )
    from sessions_app.domain.wire.target import make_target

    class Feed:
        def __iter__(self) -> Iterator[Event]:
            yield StepStart()
            yield TextStart("t")
            for _ in range(DELTAS):
                yield TextDelta("t", PIECE)
            yield TextEnd("t")
            yield StepFinish("stop", Usage(1, DELTAS))
            yield Finish()

        def start(self, call: object) -> None:
            """Nothing is called."""

        def close(self) -> None:
            """Nothing is held."""

    writes = _counted(store)
    tails = iter(f"{number:014d}" for number in range(1_000_000))
    around = Surroundings(lambda: time.time_ns() // 1_000_000, time.sleep, tails.__next__)
    target = make_target("acme", "model-1", protocol="openai-chat")
    engine = Engine(store, lambda request: Feed(), around)
    dialogue = Dialogue(engine, V1Shape(), target, Speaker("acme", "model-1"))
    started = time.perf_counter()
    end = dialogue.ask("go")
    took = time.perf_counter() - started
    assert end.failure is None, end.failure
    stored = sum(len(row["data"]) for row in store.rows().parts)
    assert stored >= DELTAS * len(PIECE)
    if hasattr(store, "close"):
        store.close()
    rate = DELTAS / took
    print(
        f"{name:18} {DELTAS:,} deltas in {took:.2f} s: {rate:10,.0f} a second (to reach: {FLOOR:,}), {writes[0]} writes"
    )
    return rate


def _counted(store: Any) -> list[int]:
    count, write = [0], store.write

    def counting(writes: Any) -> None:
        count[0] += 1
        write(writes)

    store.write = counting
    return count


def _database(path: Path) -> Path:
    tables: tuple[str, ...] = (
        "CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT NOT NULL)",
        (
            "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT,"
            " title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER)"
        ),
        (
            "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER, time_updated"
            " INTEGER, data TEXT)"
        ),
        (
            "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT, time_created INTEGER,"
            " time_updated INTEGER, data TEXT)"
        ),
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in tables:
            connection.execute(table)
        connection.execute("INSERT INTO project VALUES ('p', '/project')")
        connection.execute(
            "INSERT INTO session VALUES ('ses_bench', 'p', NULL, 's', '/project', 'bench', '1.18.33', 1, 1, NULL)"
        )
    return path


if __name__ == "__main__":
    raise SystemExit(main())
