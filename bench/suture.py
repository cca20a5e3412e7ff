"""Suture itself in a probe: set up, with sources read to the end."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import django


def begin() -> None:
    """Django is set up and the database has its tables; call it before anything of Suture's is imported."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "sessions_app.settings"
    os.environ.setdefault("SUTURE_TASKS", "immediate")
    django.setup()
    from sessions_app.services.database import database_prepare

    database_prepare()


class Clock:
    """Seconds since it was made: of the processor, with that of processes that have ended, and by the clock."""

    def __init__(self) -> None:
        self._cpu, self._wall = _used(), perf_counter()

    @property
    def cpu(self) -> float:
        return _used() - self._cpu

    @property
    def wall(self) -> float:
        return perf_counter() - self._wall

    def read(self) -> dict[str, float]:
        return {"cpu": self.cpu, "wall": self.wall}


def timed(action: Callable[[], object]) -> dict[str, float]:
    clock = Clock()
    action()
    return clock.read()


def imported(path: Path) -> Any:
    """The source, read and scanned."""
    from django.utils import timezone

    from sessions_app.services import importing
    from sessions_app.tasks import job_enqueue

    source, job = importing.source_attach(path=path, actor="bench", now=timezone.now())
    job_enqueue(job)  # and whatever it enqueues itself, to the end
    return source


def server_used() -> float | None:
    """Seconds of processor that the database's server spent on this connection; None of a server that is elsewhere."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return 0.0
    connection.ensure_connection()
    try:
        spent = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text()
    except OSError:
        return None
    return int(spent.split()[0]) / 1e9


def _used() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
