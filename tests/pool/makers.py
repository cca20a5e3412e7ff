"""Functions for the processes of the pool: they are found by their names, so they stand in a module."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessions_app.stores.base import Problem, Store


def read(store: Store, settings: Any) -> Callable[[Any], tuple[Any, ...]]:
    """What is read of a session, and in which process."""

    def do(session_id: Any) -> tuple[Any, ...]:
        rows = store.read(session_id)
        store.problems.append(Problem(f"session {session_id}", "looked at"))
        return session_id, len(rows.messages), len(rows.parts), os.getpid()

    return do


def loaded(store: Store, settings: Any) -> Callable[[Any], list[str]]:
    return lambda session_id: sorted(sys.modules)


def fails_at(store: Store, settings: Any) -> Callable[[Any], Any]:
    def do(session_id: Any) -> Any:
        if session_id == settings:
            raise OSError(5, "Input/output error", "somewhere")
        return session_id

    return do


def never(store: Store, settings: Any) -> Callable[[Any], Any]:
    raise ValueError("this cannot be set up")


def exits(store: Store, settings: int) -> Callable[[Any], Any]:
    """Nothing comes of it but in the process ``settings``."""
    if os.getpid() != settings:
        os._exit(7)
    return lambda session_id: session_id


def killed_at(store: Store, settings: tuple[Any, Path | None]) -> Callable[[Any], Any]:
    """Its process is killed over one session: always, or once, of which a file tells."""
    which, once = settings

    def do(session_id: Any) -> Any:
        if session_id == which and not (once and once.exists()):
            if once:
                once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return session_id

    return do


def notes(store: Store, settings: Path) -> Callable[[Any], Any]:
    """Leaves a file for each session that was begun, and one for each process."""
    (settings / f"process {os.getpid()}").touch()

    def do(session_id: Any) -> Any:
        (settings / f"session {session_id}").touch()
        return session_id

    return do


def sleeps(store: Store, settings: Path) -> Callable[[Any], Any]:
    (settings / f"process {os.getpid()}").touch()

    def do(session_id: Any) -> Any:
        time.sleep(600)

    return do
