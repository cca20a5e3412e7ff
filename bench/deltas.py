"""How many text deltas a second go through the processor into opencode's own file, and into the mirror.

Deltas come from a list, so the figure is that of the processor with its persistence; each store is written every 250 ms
of the real clock.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.suture import begin, imported

DELTAS = 200_000
PIECE = "word and "


def measure() -> dict[str, Any]:
    begin()
    return {"file": _rate(_file_store()), "mirror": _rate(_mirror())}


def _file_store() -> Any:
    from sessions_app.stores.fileturns import FileTurnStore

    return FileTurnStore(_database(Path("file.db").resolve()), "ses_bench")


def _mirror() -> Any:
    from sessions_app.models import Session, Source
    from sessions_app.services.mirrorturns import MirrorTurnStore

    source = imported(_database(Path("mirror.db").resolve()))
    Source.objects.filter(pk=source.pk).update(origin="uploaded")
    return MirrorTurnStore(Session.objects.select_related("source").get(stored_id="ses_bench"))


def _rate(store: Any) -> float:
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
    return DELTAS / took


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
