"""A copy of a store, of the same kind, to be repaired in its stead."""

from __future__ import annotations

import shutil
from pathlib import Path

from sessions_app.stores.backup import backup_sqlite
from sessions_app.stores.base import Store


def store_copy(*, store: Store, destination: Path) -> None:
    """Copy ``store`` to ``destination``, which must not exist: a database through SQLite (what is in its WAL comes
    along), a folder with everything in it, a document as it is."""
    if store.kind == "sqlite":
        backup_sqlite(store.path, destination)
    elif store.path.is_dir():
        shutil.copytree(store.path, destination, symlinks=True)
    else:
        shutil.copyfile(store.path, destination)
