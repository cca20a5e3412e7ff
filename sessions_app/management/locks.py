"""The locks of a data directory: who serves it, and whether anything else works on it. The system lets go of them with
the process that held them, however it ended."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Served:
    """The ``serve`` that has a data directory, as it tells others in the lock's file."""

    pid: int = 0
    url: str = ""
    """Where it answers, without a slash at the end; "" = it is still starting."""
    local: bool = False
    """Only this machine can reach it, so whoever has the data directory may sign in."""


class Seat:
    """The place of the one ``serve`` of a data directory."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.tell(Served(os.getpid()))

    def tell(self, served: Served) -> None:
        """Let later ones know where this one answers."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, json.dumps(asdict(served)).encode(), 0)


@contextmanager
def serve_lock(directory: Path) -> Iterator[Seat | None]:
    """The seat of this data directory's ``serve``, None where another has it. Children do not inherit it."""
    handle = os.open(directory / "serve.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield Seat(handle) if _locked(handle) else None
    finally:
        os.close(handle)


def served_by(directory: Path, *, patience: float) -> Served:
    """Who has the seat. Waits up to ``patience`` seconds for one that is still starting to tell its address."""
    until = time.monotonic() + patience
    while True:
        try:
            served = Served(**json.loads((directory / "serve.lock").read_bytes()))
        except (ValueError, TypeError):  # caught while it was being written
            served = Served()
        if served.url or time.monotonic() > until:
            return served
        time.sleep(_PAUSE)


@dataclass(frozen=True, slots=True)
class Work:
    """A share of the lock that everything holds that works on a data directory: ``serve``, its children, workers."""

    handle: int
    """For children to inherit: the lock lasts as long as any of them."""
    alone: bool
    """Nothing else works here, and nothing begins to before ``share``."""

    def share(self) -> None:
        """From now on others may work here too."""
        fcntl.flock(self.handle, fcntl.LOCK_SH)


@contextmanager
def work_lock(directory: Path, *, patience: float) -> Iterator[Work]:
    """Work on this data directory: alone, if what works there ends within ``patience`` seconds, else beside it."""
    handle = os.open(directory / "work.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + patience
        while not (alone := _locked(handle)) and time.monotonic() < until:
            time.sleep(_PAUSE)
        work = Work(handle, alone)
        if not alone:
            work.share()
        yield work
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
