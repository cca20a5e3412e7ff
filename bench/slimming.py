"""How long a store takes to slim, and what is left of it, beside SQLite's own VACUUM INTO of the same file in the same
run: ``python -m bench.slimming STORE.db`` (``bench.shaped`` and ``bench.events`` make one)."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sessions_app.stores.slimming import slim_into

type Took = tuple[float, float]
"""Seconds of the processor, and by the clock."""


def took(work: Callable[[], object]) -> Took:
    processor, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - clock


def vacuumed(store: Path, into: Path) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("VACUUM INTO ?", (str(into),))


def main() -> int:
    store = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=store.parent) as folder:
        plain, small = Path(folder) / "plain.db", Path(folder) / "small.db"
        floor = took(lambda: vacuumed(store, plain))
        slim = took(lambda: slim_into(store, small, young=None, progress=lambda *_: None))
        sizes = [path.stat().st_size / 1e6 for path in (store, plain, small)]
    sys.stdout.write("{:,.0f} MB; VACUUM INTO {:,.0f} MB, slim {:,.0f} MB\n".format(*sizes))
    for name, its, mine in zip(("processor", "clock"), floor, slim, strict=True):
        sys.stdout.write(f"{name}: VACUUM INTO {its:.2f} s, slim {mine:.2f} s, {mine / its:.2f} x\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
