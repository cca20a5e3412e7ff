"""Reading a database of 100,000 parts: opening, listing, one session, all of them, what changed, and one guarded
write."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from sessions_app.domain.repair import RowChange
from sessions_app.stores import open_store
from sessions_app.stores.journal import Journal
from sessions_app.stores.sqlite import SqliteStore, facts, quick_check
from tests.factories.bigstore import make_store

SESSIONS, TURNS, STEPS = 250, 20, 3
"""250 sessions of 20 turns of 3 steps: 95,000 parts in 25,000 messages."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        ids = make_store(path, sessions=SESSIONS, turns=TURNS, steps=STEPS, output=2_000)
        parts = SESSIONS * TURNS * (1 + STEPS * 5 + 3)
        print(f"stores: {len(ids)} sessions, {parts:,} parts, {path.stat().st_size / 1e6:.0f} MB")
        store = _timed("open", lambda: open_store(path))
        assert isinstance(store, SqliteStore)
        with store:
            _timed("list sessions", lambda: list(store.sessions()))
            _timed("read one session", lambda: store.read(ids[7]))
            seconds = _clock(lambda: sum(len(rows.parts) for rows in store.read_all()))
            print(
                f"  read all               {seconds * 1000:9.1f} ms   {100_000 / parts * seconds:.2f} s per 100,000"
                " parts"
            )
            mark = _timed("mark", store.mark)
            _timed("changed since", lambda: store.changed_since(mark))
            _timed("facts and orphans", lambda: facts(store))
            _timed("quick_check", lambda: quick_check(path))
            row = store.read(ids[7]).parts[3]
            change = RowChange("part", {"id": row["id"]}, row, {**row, "data": row["data"] + " "})
            done = store.apply([change], journal=Journal(Path(folder) / "journal"))
            print(f"  guarded write: other writers waited {done.seconds * 1000:.2f} ms")
            tracemalloc.start()
            for _ in store.read_all():
                pass
            print(f"  peak memory of read all {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB")
            tracemalloc.stop()


def _timed[T](what: str, action: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = action()
    print(f"  {what:22} {(time.perf_counter() - start) * 1000:9.1f} ms")
    return result


def _clock(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
