"""Where opencode keeps its sessions (docs/contract/formats.md#a1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .ground import StoreError
from .storagefiles import is_storage

MEMORY = ":memory:"


def data_directory(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Path:
    """``$XDG_DATA_HOME/opencode``; an empty or unset XDG_DATA_HOME means ``~/.local/share``."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else (home or Path.home()) / ".local" / "share") / "opencode"


FORKS = ("kilo", "mimocode")
"""Clients made from opencode that keep its tables in a folder and file of their own name
(docs/contract/formats.md#c4)."""


def discover(environ: Mapping[str, str] | None = None, home: Path | None = None) -> list[Path]:
    """The stores that exist, the one opencode uses first: ``$OPENCODE_DB``, ``opencode.db``, databases of other
    channels (newest first), a storage tree of 1.0/1.1, which may hold older sessions beside a database; then the same
    of ``FORKS``.
    """
    environ = os.environ if environ is None else environ
    folder = data_directory(environ, home)
    found: list[Path] = []
    named = environ.get("OPENCODE_DB", "")
    if named and named != MEMORY:
        found.append(folder / named)  # an absolute name stays what it is
    found += stores_in(folder)
    for fork in FORKS:
        found += [*stores_in(folder.parent / fork, fork), *stores_in(folder / fork, fork)]
    return [path for path in dict.fromkeys(found) if path.exists()]


def stores_in(folder: Path, name: str = "opencode") -> list[Path]:
    """The databases of a client's data directory, and its storage tree."""
    storage = folder / "storage"
    found = databases_in(folder, name)
    with suppress(StoreError):  # a link in the tree: told when it is opened
        if is_storage(storage):
            found.append(storage)
    return found


def beside(folder: Path) -> list[Path]:
    """Every store in a folder and in the folders that clients make in it, as ``discover`` orders them."""
    found = stores_in(folder) + stores_in(folder / "opencode")
    for fork in FORKS:
        found += [*stores_in(folder, fork), *stores_in(folder / fork, fork)]
    return list(dict.fromkeys(found))


def databases_in(folder: Path, name: str = "opencode") -> list[Path]:
    """``opencode.db`` first, then ``opencode-<channel>.db``, the one written last first; ``name``: the client's."""
    own = folder / f"{name}.db"
    try:
        others = [path for path in folder.glob(f"{name}-*.db") if path.is_file()]
    except OSError:
        others = []
    return ([own] if own.is_file() else []) + sorted(others, key=lambda path: (-path.stat().st_mtime, path.name))
