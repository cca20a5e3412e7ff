"""The children of ``serve`` end with it, however it ends. They are killed: what they write is safe against that.

Linux does it. Elsewhere, and should Linux not be asked in time, they watch a pipe that ``serve`` alone holds open.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

VARIABLE = "SUTURE_LIFELINE"
"""Names the pipe's reading end to a child of ``serve``; no setting."""

_PR_SET_PDEATHSIG = 1


def watch(parent: int = 0) -> None:
    """End this process when ``serve`` is gone, if it is a child of one.

    ``parent``: a process between ``serve`` and this one, which ends likewise.
    """
    number = os.environ.get(VARIABLE, "")
    if number.isdecimal():
        threading.Thread(target=_wait, args=(int(number), parent), name="lifeline", daemon=True).start()


def killed_with_parent(parent: int) -> Callable[[], None] | None:
    """What a child of ``parent`` runs before anything else, so that Linux ends it with its parent; None elsewhere."""
    if sys.platform != "linux":
        return None
    import ctypes  # only where it is asked: every command line imports this module

    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # gone before it was asked
            os._exit(1)

    return ask


def _wait(pipe: int, parent: int) -> None:
    with suppress(OSError):
        os.read(pipe, 1)  # nothing is ever written: this returns when the other end is closed
    if parent and os.getppid() == parent:  # later its number may be another's
        with suppress(ProcessLookupError):
            os.kill(parent, signal.SIGKILL)
    os._exit(1)
