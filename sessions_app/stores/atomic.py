"""Files that are either the old ones or the new ones, never half (docs/contract/design.md#5.2)."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace ``path`` by ``data`` so that a crash leaves the old or the new file; durable on return.

    ``mode``: permission bits of a new file (an existing file keeps its own); 0o600 where left out.
    """
    if mode is None:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as problem:
        temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            problem.filename = problem.filename or str(path)  # a write that fails does not tell of which file
        raise
    sync_directory(path.parent)


def remove_durably(path: Path) -> None:
    """Delete a file so that it stays deleted after a crash; a file that is gone already is fine."""
    path.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
