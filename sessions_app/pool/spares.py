"""Processes that are there before anything is open: forked from this one, with all that it has loaded. To start others
takes as long as to scan fifty sessions.

That is safe as long as no store is open whose locks both would hold, and no other thread runs.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn

type Child = Callable[[Connection[Any, Any]], object]


class Spare:
    """One process: ``kill`` and ``wait`` are those of ``subprocess.Popen``."""

    def __init__(self, child: Child, others: list[Spare]) -> None:
        """Raises ``OSError`` where the system gives no process."""
        self.line, theirs = Pipe()
        try:
            self.pid = os.fork()
        except OSError:
            self.line.close()
            theirs.close()
            raise
        if not self.pid:
            for line in (self.line, *(other.line for other in others)):
                line.close()  # else the end of this one's parent would not be seen
            _live(child, theirs)
        theirs.close()
        with suppress(OSError):  # it has done so itself, or is gone
            os.setpgid(self.pid, self.pid)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def end(self) -> None:
        self.kill()
        self.line.close()
        self.wait()


def _live(child: Child, line: Connection[Any, Any]) -> NoReturn:
    try:
        os.setpgid(0, 0)  # Ctrl-C reaches the parent alone
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        gc.freeze()
        child(line)
    finally:
        os._exit(1)


def fork(count: int, child: Child, found: list[Spare]) -> None:
    """``count`` more into ``found``, or as many as the system gives; ``child`` is the whole life of each."""
    with suppress(OSError):
        for _ in range(count):
            found.append(Spare(child, found))
