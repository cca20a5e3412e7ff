"""Where opencode keeps its sessions (docs/contract/formats.md#a1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .storagefiles import is_storage

MEMORY = ":memory:"


def data_directory(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Path:
    """``$XDG_DATA_HOME/opencode``; an empty or unset XDG_DATA_HOME means ``~/.local/share``."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else (home or Path.home()) / ".local" / "share") / "opencode"


def discover(environ: Mapping[str, str] | None = None, home: Path | None = None) -> list[Path]:
    """opencode's own stores that exist, the one it uses first: ``$OPENCODE_DB``, ``opencode.db``, databases of other
    channels (newest first), and a storage tree of 1.0/1.1, which may hold older sessions beside a database.
    """
    environ = os.environ if environ is None else environ
    folder = data_directory(environ, home)
    found: list[Path] = []
    named = environ.get("OPENCODE_DB", "")
    if named and named != MEMORY:
        found.append(folder / named)  # an absolute name stays what it is
    found += databases_in(folder)
    found = [path for path in dict.fromkeys(found) if path.is_file()]
    storage = folder / "storage"
    if is_storage(storage):
        found.append(storage)
    return found


def databases_in(folder: Path) -> list[Path]:
    """``opencode.db`` first, then ``opencode-<channel>.db``, the one written last first."""
    own = folder / "opencode.db"
    try:
        others = [path for path in folder.glob("opencode-*.db") if path.is_file()]
    except OSError:
        others = []
    return ([own] if own.is_file() else []) + sorted(others, key=lambda path: (-path.stat().st_mtime, path.name))
