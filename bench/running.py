"""Processes that are measured: processor and wall time, and the most memory that one and all it started held."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.postgres import new_database

CHILD = Path(__file__).with_name("child.py")
_EVERY = 0.05
_UNITS = 1024.0 if sys.platform == "linux" else 1024.0 * 1024.0
"""``ru_maxrss`` is in kilobytes here, in bytes on macOS."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of processor (children's too), seconds by the clock, megabytes at the peak."""

    cpu: float
    wall: float
    memory: float


class BenchFailed(Exception):
    """A measured process ended with an error; the message holds what it said."""


def run(command: Sequence[str], folder: Path, env: Mapping[str, str], fine: Sequence[int] = (0, 1)) -> tuple[Cost, str]:
    """Run to the end, and give what it wrote. Raises ``BenchFailed`` where its exit code is none of ``fine``."""
    out, err = folder / "stdout", folder / "stderr"
    started = perf_counter()
    with out.open("wb") as said, err.open("wb") as told:
        process = subprocess.Popen(command, stdout=said, stderr=told, stdin=subprocess.DEVNULL, env=env, cwd=folder)
        watch = _Watch(process.pid)
        _, status, used = os.wait4(process.pid, 0)
    wall = perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    # What the system itself keeps of a child begins with what its parent held.
    memory = watch.stop() or used.ru_maxrss / _UNITS
    if process.returncode not in fine:
        raise BenchFailed(f"{' '.join(command[:6])} ended with {process.returncode}:\n{err.read_text()[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, wall, memory), out.read_text(errors="replace")


@dataclass(slots=True)
class Checkout:
    """A working copy whose code is measured, by this one's interpreter and packages."""

    path: Path
    folder: Path
    """Where its processes work and keep their data."""
    server: str = ""
    """URL of a PostgreSQL server's database, beside which it gets one of its own; "" = SQLite."""
    database: str = ""
    """URL of that one."""

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """Nothing is there of what was measured before."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if not self.server:
            yield
            return
        with new_database(self.server, f"suture_bench_{os.getpid()}") as self.database:
            yield

    def env(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUTURE_", "PYTHON"))}
        kept |= {"PYTHONPATH": str(self.path), "SUTURE_DATA_DIR": str(self.folder / "data"), "PYTHONHASHSEED": "0"}
        kept["SUTURE_REQUEST_SECONDS"] = "900"  # a busy machine must not make a page a refusal
        alone = "-c max_parallel_workers_per_gather=0"  # a query in one process, whose time can be told
        served = {"SUTURE_DATABASE_URL": self.database, "PGOPTIONS": alone}
        return kept | (served if self.database else {}) | more

    def command(self, *arguments: str, **env: str) -> Cost:
        """A Suture command; exit code 1 says that something was found."""
        cost, _ = run([sys.executable, "-m", "sessions_app", *arguments], self.folder, self.env(**env))
        return cost

    def probe(self, name: str, **given: Any) -> dict[str, Any]:
        """What ``bench.NAME.measure(**given)`` gives when it runs on this copy's code."""
        command = [sys.executable, str(CHILD), name, json.dumps(given)]
        cost, said = run(command, self.folder, self.env(), fine=(0,))
        found: dict[str, Any] = json.loads(said.splitlines()[-1])
        return found | {"memory": cost.memory}


class _Watch:
    """Looks at a process and its descendants again and again."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._over = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return self._most

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            self._most = max(self._most, sum(map(_held, _family(self._pid))))


def _family(pid: int) -> list[int]:
    found, new = [pid], [pid]
    while new:
        texts = []
        for one in new:
            for task in Path(f"/proc/{one}/task").glob("*/children"):
                with suppress(OSError):
                    texts.append(task.read_text())
        new = [int(word) for text in texts for word in text.split()]
        found += new
    return found


def _held(pid: int) -> float:
    """Megabytes, what is shared with others counted by share; 0 where nothing tells."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0
