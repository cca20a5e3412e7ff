"""The process's own streams: there from the start, and told in one line where what was written did not arrive."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NOT_WRITTEN = 2


@contextmanager
def streams_told() -> Iterator[None]:
    """Around a whole command line. A stream that is closed (``>&-``, some schedulers) is the null device: commands ask
    their streams much, and the next file that is opened would get its number. Output is flushed here, not when Python
    ends, which would say "Exception ignored" and end with 120. Who has read enough of it (``| head``) is no failure."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  as long as the process
    try:
        yield
    except BrokenPipeError:
        _to_nowhere()
        sys.exit(0)
    finally:
        _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _to_nowhere()
    except OSError as problem:
        _to_nowhere()
        sys.stderr.write(f"suture: stdout: {problem.strerror}\n")
        sys.exit(NOT_WRITTEN)


def _to_nowhere() -> None:
    """What is still to be written is dropped; Python flushes once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
