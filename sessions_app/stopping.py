"""Signals that end a command: what it was doing is unwound, then one line tells, and the exit code is the signal's."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from sessions_app.management.lifeline import VARIABLE as CHILD_OF_SERVE

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Beside SIGINT, which Python makes a KeyboardInterrupt by itself."""


class Stopped(KeyboardInterrupt):
    """Another signal than SIGINT; unwinds like Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stopped_in_a_line() -> Iterator[None]:
    """Around a whole command line: SIGINT ends it with code 130, SIGTERM with 143, each with one line on stderr, in
    which the notes of the exception tell how to go on."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup
            signal.signal(number, _stop)
    try:
        yield
    except KeyboardInterrupt as stopped:
        ended_by = stopped.number if isinstance(stopped, Stopped) else signal.SIGINT
        if CHILD_OF_SERVE not in os.environ:  # serve tells it for all
            with suppress(OSError):  # a terminal that was closed
                words = "; ".join((f"stopped by {signal.Signals(ended_by).name}", *getattr(stopped, "__notes__", ())))
                sys.stderr.write(f"suture: {words}\n")
        sys.exit(128 + ended_by)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(number: int) -> NoReturn:
    """End as the signal would."""
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    stop(number)
