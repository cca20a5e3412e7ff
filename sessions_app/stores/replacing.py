"""A new database in the place of an old one, which is kept under a name of its own beside it: nothing is copied, so a
store that fills its disk can be replaced by a smaller one.

Nobody can come in between: the old file is locked as a whole, its ``-wal`` taken in and gone (else it would mix with
the new file, docs/contract/formats.md#a7), and whoever opened it meanwhile is looked for before the lock goes. Under
its path there is the old or the new file at any time.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

from .atomic import remove_durably, sync_directory
from .ground import Hook, StoreError, no_hook, real_place
from .holders import Holder, database_files, holders, holders_of
from .sqlite.connection import BUSY_SECONDS, FileIdentity, explained, harden, identity, read_schema

_MARK = ".before-slim-"
_AGAIN = "Close it first, and try again."

type Standing = tuple[tuple[FileIdentity, int, int], ...]
"""Which files a database is, their sizes and when they were last written."""


def standing(path: Path) -> Standing:
    """What ``replace`` compares: the database and its ``-wal``; an empty one comes and goes whenever somebody looks."""
    found = []
    for file in database_files(path)[:2]:
        facts = file.stat() if file.exists() else None
        if facts is not None and facts.st_size:
            found.append((identity(file), facts.st_size, facts.st_mtime_ns))
    return tuple(found)


def kept_place(path: Path, now: datetime) -> Path:
    """The name under which the old file is kept; no client takes it for a database of its own."""
    return path.with_name(f"{path.stem}{_MARK}{now:%Y%m%d-%H%M%S-%f}{path.suffix}")


def kept_files(path: Path) -> list[Path]:
    """The old files of a database that are still kept, newest first."""
    path = real_place(path)
    pattern = f"{glob.escape(path.stem)}{_MARK}*{glob.escape(path.suffix)}"
    here = identity(path)
    return sorted((file for file in path.parent.glob(pattern) if identity(file) != here), reverse=True)


def kept_forget(path: Path) -> list[tuple[Path, int]]:
    """Delete them; which they were, and their sizes."""
    found = [(file, file.stat().st_size) for file in kept_files(path)]
    for file, _ in found:
        for one in reversed(database_files(file)):
            remove_durably(one)
    return found


def replace(path: Path, new: Path, *, seen: Standing, now: datetime, at: Hook = no_hook) -> Path:
    """Put the database ``new``, of the same folder, in the place of ``path``; gives where the old file is kept.

    ``seen``: how ``path`` stood before ``new`` was made of it. Raises ``StoreError``: all is as it was.
    """
    _like(path, new)
    kept = kept_place(path, now)
    try:
        with closing(_locked(path, seen)):
            at("locked")
            os.link(path, kept)
            at("kept")
            new.replace(path)
            at("replaced")
            if late := holders_of(identity(kept)):  # they wait for the lock, and would go on in the old file
                kept.replace(path)
                raise in_use(path, late)
            sync_directory(path.parent)
    except sqlite3.Error as error:
        raise explained(error, path) from error
    except OSError as problem:
        if kept.exists() and identity(kept) == identity(path):
            kept.unlink()
        words = f"The new file could not be put in place: {problem.strerror}."
        raise StoreError("permission", path, words, "Write it elsewhere, with --output.") from problem
    return kept


def in_use(path: Path, by: list[Holder]) -> StoreError:
    names = ", ".join(f"{one.command or 'a process'} ({one.pid})" for one in by)
    return StoreError("in-use", path, f"The database is open in {names}. Nothing was changed.", _AGAIN)


def _like(path: Path, new: Path) -> None:
    """Owner and permissions of the new file are those of the old one, which has no second name."""
    for file in path.parent.glob(f"{glob.escape(path.stem)}{_MARK}*"):
        if identity(file) == identity(path):  # of a process that was killed before the new file was in place
            remove_durably(file)
    old, made = path.stat(), new.stat()
    if old.st_nlink > 1:
        words = "The file has a second name (a hard link), which would go on with the old content."
        raise StoreError("permission", path, words, "Write to another file, with --output.")
    new.chmod(old.st_mode & 0o777)
    if (old.st_uid, old.st_gid) != (made.st_uid, made.st_gid):
        try:
            os.chown(new, old.st_uid, old.st_gid)
        except OSError as problem:
            words = "The file belongs to somebody else, and the new one would be yours."
            raise StoreError("permission", path, words, "Run this as the owner of the file.") from problem


def _locked(path: Path, seen: Standing) -> sqlite3.Connection:
    """The database to ourselves, in one file, and not written since it was ``seen``."""
    if by := holders(database_files(path)):
        raise in_use(path, by)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        harden(connection)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN IMMEDIATE")
        read_schema(connection)
        if standing(path) != seen:
            words = "The database was written to while it was read. Nothing was changed."
            raise StoreError("busy", path, words, "Close the client and try again.")
        connection.rollback()
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
            raise StoreError("busy", path, "Somebody else reads the database. Nothing was changed.", _AGAIN)
        connection.execute("BEGIN EXCLUSIVE")
        for beside in ("-wal", "-shm", "-journal"):  # empty now; beside the new file they would be another's
            Path(f"{path}{beside}").unlink(missing_ok=True)
    except BaseException:
        connection.close()
        raise
    return connection
