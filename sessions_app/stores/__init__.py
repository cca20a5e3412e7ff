"""The agents' own files: SQLite databases, storage trees, export files, row documents (docs/contract/design.md#4, #5).

``open_store`` looks at what a path is and gives the store that reads it; what it cannot read raises ``StoreError`` with
words and a next step.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sessions_app.domain.jsontext import decoded

from .archive import is_archive, unpack
from .base import About, Applied, Changes, Mark, Problem, Store, StoreError, StoreKind, disk_sizes
from .changes import Difference, GuardRefused
from .clientconfig import configuration_beside
from .exportstore import ExportStore
from .holders import Holder
from .locations import beside, discover
from .rowstore import RowStore
from .sqlite import SqliteStore
from .storagefiles import is_storage
from .storagestore import StorageStore
from .textsniff import documents

__all__ = [
    "About",
    "Applied",
    "Changes",
    "Difference",
    "ExportStore",
    "GuardRefused",
    "Holder",
    "Mark",
    "Problem",
    "RowStore",
    "SqliteStore",
    "StorageStore",
    "Store",
    "StoreError",
    "StoreKind",
    "StoreType",
    "beside",
    "discover",
    "disk_sizes",
    "find_inside",
    "open_bytes",
    "open_in_place",
    "open_store",
    "register",
    "unregister",
]


@dataclass(frozen=True, slots=True)
class StoreType:
    """A kind of store beyond opencode's own, as ``register`` takes it.

    ``recognises(path, text)`` tells a file by its text, or a folder (its text is ""); ``open(path, text, on_disk)``
    gives the store. Raises ``StoreError``.
    """

    kind: StoreKind
    recognises: Callable[[Path, str], bool]
    open: Callable[[Path, str, bool], Store]


_TYPES: dict[StoreKind, StoreType] = {}


def register(store_type: StoreType) -> None:
    """Make a kind of store known: ``open_store`` asks it where a path is none of opencode's."""
    _TYPES[store_type.kind] = store_type


def unregister(kind: StoreKind) -> None:
    """Forget a kind of store."""
    del _TYPES[kind]


def _type_of(path: Path, text: str, kind: StoreKind | None) -> StoreType | None:
    if kind is not None:
        return _TYPES.get(kind)
    return next((each for each in _TYPES.values() if each.recognises(path, text)), None)


MAX_TEXT_BYTES = 1024**3
"""The longest export or row document: it is held in memory."""

_WHAT = "Give a database, a storage folder, an export or a row document."


def open_store(path: Path | str, kind: StoreKind | None = None) -> Store:
    """The store at ``path``; its kind is found by looking where none is given. Raises ``StoreError``.

    A folder may be a storage tree, a folder with ``storage`` in it, or opencode's data directory (its database then;
    the tree beside it is a store of its own, see ``discover``).
    """
    store = _opened(Path(path), kind)
    store.configuration = configuration_beside(store.path)
    return store


def _opened(path: Path, kind: StoreKind | None) -> Store:
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise StoreError("missing", path, "There is no such file or folder.", "Check the path.") from None
    except OSError as error:
        raise StoreError(
            "permission", path, f"The path cannot be looked at: {error.strerror}.", "Check the permissions."
        ) from error
    if path.is_dir():
        return _open_folder(path, kind)
    if not path.is_file():
        raise StoreError("not-a-store", path, "This is neither a file nor a folder.", _WHAT)
    if facts.st_size == 0:
        raise _empty(path)
    if is_archive(path):
        return _open_archive(path)
    # SQLite looks first: opening a database by other means and closing it again would drop the locks of our own
    # connections.
    if kind in (None, "sqlite"):
        try:
            return SqliteStore(path)
        except StoreError as error:
            if error.kind != "not-a-store" or not isinstance(error.__cause__, sqlite3.DatabaseError):
                raise
            return _open_other(path, kind, facts.st_size)
    return _open_other(path, kind, facts.st_size)


def open_in_place(path: Path, kind: StoreKind | None = None) -> Store:
    """``open_store`` for a path that was looked up once and has to stay itself: a link that is put in its place since,
    or in the folder that it names, leads to what nobody has attached. Raises ``StoreError``."""
    store = open_store(path, kind)
    inside = path.absolute()
    if store.path.absolute().is_relative_to(inside):
        return store
    store.close()
    words = f"A link leads from here to {store.path}, which is not what was attached."
    raise StoreError("missing", path, words, "Attach the file or folder that it leads to.")


def open_bytes(data: bytes, name: str = "-", limit: int = MAX_TEXT_BYTES) -> Store:
    """The store in an export or a row document that came by a pipe or in a request; it cannot be written in place."""
    if len(data) > limit:
        raise StoreError("too-big", name, f"The text is longer than {limit:,} bytes.", "Give it as a file.")
    if data.startswith(b"SQLite format 3\0"):
        raise StoreError("not-a-store", name, "A database cannot be read from a pipe.", "Give the path of its file.")
    return _open_text(Path(name), decoded(data), None, on_disk=False)


def _open_folder(path: Path, kind: StoreKind | None) -> Store:
    if not os.access(path, os.R_OK | os.X_OK):
        raise StoreError("permission", path, "The folder cannot be read.", "Check its permissions.")
    if kind in (None, "sqlite"):
        found = [one for one in beside(path) if one.is_file()]
        if found:
            return SqliteStore(found[0])
    for folder in (path, *beside(path)):
        if is_storage(folder):
            return StorageStore(folder)
    if (known := _type_of(path, "", kind)) is not None:
        return known.open(path, "", True)
    raise StoreError(
        "empty-folder",
        path,
        "The folder holds no sessions of opencode.",
        "Give the storage folder, or the folder that holds opencode.db.",
    )


def _open_other(path: Path, kind: StoreKind | None, size: int) -> Store:
    if size > MAX_TEXT_BYTES:
        raise StoreError(
            "too-big", path, f"The file is no database, and too long for an export ({size:,} bytes).", _WHAT
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(
            "permission", path, f"The file cannot be read: {error.strerror}.", "Check its permissions."
        ) from error
    if not data.strip(b"\0"):
        raise StoreError(
            "nul-filled",
            path,
            "The file holds nothing but NUL bytes, as after a crash or a full disk.",
            "Look for a backup of it.",
        )
    if kind == "sqlite" or _is_binary(data):
        raise _no_database(path, data)
    return _open_text(path, decoded(data), kind, on_disk=True)


def _open_text(path: Path, text: str, kind: StoreKind | None, on_disk: bool) -> Store:
    if (known := _type_of(path, text, kind)) is not None:
        return known.open(path, text, on_disk)
    if kind is None:
        kind = documents(text, path)[0].kind
    return (ExportStore if kind == "export" else RowStore)(path, text, on_disk)


def _is_binary(data: bytes) -> bool:
    """No text of any encoding that an export comes in."""
    head = data[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    control = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return b"\0" in head or control > len(head) // 50


def _no_database(path: Path, data: bytes) -> StoreError:
    if data.startswith(b"\0" * 16):
        return StoreError(
            "nul-filled",
            path,
            "The file begins with NUL bytes, as after a crash or a full disk.",
            "Look for a backup of it, with its -wal.",
        )
    # An encrypted file has random bytes where a header should be, and whole pages.
    if len(set(data[:1024])) > 200 and len(data) % 512 == 0:
        return StoreError(
            "encrypted",
            path,
            "The file is not a readable database: it seems to be encrypted, or its header is gone.",
            "Give a decrypted copy.",
        )
    return StoreError("not-a-store", path, "The file is not a SQLite database.", _WHAT)


def _empty(path: Path) -> StoreError:
    wal = Path(f"{path}-wal")
    more = " Its -wal is there and may hold the data: keep both." if wal.exists() and wal.stat().st_size else ""
    return StoreError("empty-file", path, f"The file is empty (zero bytes).{more}", "Look for a backup of it.")


def _open_archive(path: Path) -> Store:
    """The database or tree in an archive, unpacked into a private folder for as long as the store is open."""
    folder = Path(tempfile.mkdtemp(prefix="suture-archive-"))
    try:
        unpack(path, folder)
        inner = find_inside(folder)
        if inner is None:
            raise StoreError(
                "empty-folder",
                path,
                "The archive holds no sessions of opencode.",
                "Pack the storage folder, or the database with its -wal.",
            )
        store: Store = SqliteStore(inner) if inner.is_file() else StorageStore(inner)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    store.path = path
    store.writable = False
    store.on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
    return store


def find_inside(folder: Path) -> Path | None:
    """The store in an unpacked archive: a tree, else the biggest database, at most three folders down."""
    folders = [
        folder,
        *(path for depth in ("*", "*/*", "*/*/*") for path in sorted(folder.glob(depth)) if path.is_dir()),
    ]
    tree = next((path for path in folders if is_storage(path)), None)
    databases = sorted((path for each in folders for path in each.glob("*.db")), key=lambda path: -path.stat().st_size)
    return databases[0] if databases else tree
