"""One source imported and scanned by 1, 2 and 4 workers on PostgreSQL: ``python -m bench.workers``.

The server is the one of ``SUTURE_DATABASE_URL``, else one that is started for it; each run has a database of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

from bench import results
from bench.postgres import server
from bench.running import Checkout
from bench.shaped import Shape, make_shaped

_LOOK = 0.25
_READ = "SELECT count(*) FILTER (WHERE imported_at IS NULL), count(*) FILTER (WHERE scanned_at IS NULL) FROM {table}"


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds by the clock until all rows were there and until all were scanned; of the workers' processors in all, and
    of the one that had most to do."""

    rows: float
    whole: float
    cpu: float
    most: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--against", type=Path, default=results.ROOT, metavar="PATH", help="another working copy's")
    parser.add_argument("--store", action="store_true", help="put the table into docs/scaling.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, server() as url:
        path = Path(folder) / "source.db"
        parts = make_shaped(path, Shape(asked.sessions, damaged=0.05)).parts
        runs = {}
        for count in asked.workers:
            copy = Checkout(asked.against.resolve(), Path(folder) / "copy", url)
            with copy.emptied():
                runs[count] = _run(copy, path, count)
    alone = runs[min(runs)]
    rows = [
        [
            f"{count}",
            f"{run.rows:.1f}",
            f"{run.whole:.1f}",
            f"{alone.whole / run.whole:.2f}",
            f"{run.cpu:.1f}",
            f"{run.most:.1f}",
        ]
        for count, run in runs.items()
    ]
    about = f"{asked.sessions} sessions, {parts:,} parts"
    on = results.machine()
    lines = [
        f"### Workers of one source on PostgreSQL: commit {results.commit_of(asked.against)}",
        "",
        f"{about}; {on['cpu']}, {on['cores']} cores, load {on['load']}, Python {on['python']}.",
        "",
        *results.markdown(
            ["workers", "rows, s", "rows and scan, s", "times as fast", "their processor, s", "the busiest, s"], rows
        ),
    ]
    results.say(lines)
    if asked.store:
        results.put("workers", lines, results.ROOT / "docs" / "scaling.md")
    return 0


def _run(copy: Checkout, path: Path, count: int) -> Run:
    import psycopg

    copy.probe("attach", path=str(path))
    command = [sys.executable, "-m", "sessions_app", "db_worker"]
    quiet = subprocess.DEVNULL
    started, rows = perf_counter(), 0.0
    workers = [
        subprocess.Popen(command, cwd=copy.folder, env=copy.env(), stdin=quiet, stdout=quiet, stderr=quiet)
        for _ in range(count)
    ]
    try:
        with psycopg.connect(copy.database, autocommit=True) as connection:
            waiting, unscanned = 1, 1
            while waiting or unscanned:
                sleep(_LOOK)
                assert all(worker.poll() is None for worker in workers), "a worker ended"
                found = connection.execute(_READ.format(table="sessions_app_session")).fetchone()
                waiting, unscanned = found or (1, 1)
                rows = rows or (0.0 if waiting else perf_counter() - started)
        whole = perf_counter() - started
    finally:
        for worker in workers:
            worker.terminate()
        used = [os.wait4(worker.pid, 0)[2] for worker in workers]
        for worker in workers:
            worker.returncode = 0
    spent = [one.ru_utime + one.ru_stime for one in used]
    return Run(rows, whole, sum(spent), max(spent))


if __name__ == "__main__":
    raise SystemExit(main())
