"""Files that a command writes: whole, or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sessions_app.stores.undisturbed import undisturbed


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A file beside ``target`` to write to; it takes the place of ``target`` when all went well, and is gone when
    something did not, Ctrl-C too. A new file is its owner's alone: transcripts are in it."""
    beside: Path | None = None
    try:
        with undisturbed():
            number, name = tempfile.mkstemp(prefix=".suture-", dir=target.resolve().parent)
            os.close(number)
            beside = Path(name)
        yield beside
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except OSError as problem:
        problem.filename = problem.filename or str(target)  # a write that fails does not tell of which file
        raise
    finally:
        with undisturbed():
            if beside is not None:
                beside.unlink(missing_ok=True)
