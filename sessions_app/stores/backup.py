"""Full backups of a database, and putting them back, both through SQLite's backup API (docs/contract/design.md#5.2;
docs/contract/rules.md#0.3).

A bare file copy would miss the ``-wal`` or tear; and a file renamed over a live database mixes with the old ``-wal``
(docs/contract/formats.md#a7).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from sessions_app.domain.patience import go_on

from .atomic import sync_directory, write_atomic
from .ground import StoreError, real_place
from .holders import database_files, holders
from .sqlite.connection import explained, harden, open_reader
from .sqlite.damage import quick_check
from .sqlite.store import SqliteStore
from .undisturbed import undisturbed

SIZE_LIMIT = 2 * 1024**3
"""Larger databases are not backed up in full unless the setting says so; restore points of the rows are always kept."""

ORIGIN = ".of"
"""Beside backups: the file that holds the path of the database they are of."""

_PAGES = 2_000


@dataclass(frozen=True, slots=True)
class Backup:
    """``path`` None: ``skipped`` says why there is no backup. ``fresh``: made now, not earlier that day."""

    path: Path | None
    skipped: str = ""
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """``previous``: where the state before is kept now; ``words`` say what was done."""

    previous: Path | None
    words: str


def backup_place(path: Path, directory: Path, day: date) -> Path:
    """One file per database and day."""
    path = real_place(path)
    name = hashlib.sha256(str(path.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return directory / f"{path.stem}-{name}" / f"{day.isoformat()}.db"


def backup_once(
    path: Path, directory: Path, *, day: date, limit: int | None = SIZE_LIMIT, seconds: float = 300.0
) -> Backup:
    """A full backup of the database at ``path``, once per path and day; ``limit`` in bytes (None: any size).

    Never raises for a reason the user can live with: the answer says why it was skipped.
    """
    path = real_place(path)
    dest = backup_place(path, directory, day)
    if dest.exists():
        return Backup(dest)
    size = sum(_size(file) for file in database_files(path)[:2])
    if limit is not None and size > limit:
        return Backup(None, f"The database is larger ({size:,} bytes) than the limit for backups ({limit:,} bytes).")
    try:
        dest.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _place_held(dest.parent, seconds):
            if dest.exists():  # another process has made it meanwhile
                return Backup(dest)
            _say_of(dest.parent / ORIGIN, path)
            for leftover in dest.parent.glob(".*.partial*"):  # of a process that was killed
                leftover.unlink(missing_ok=True)
            free = shutil.disk_usage(dest.parent).free
            if free < size + size // 10:
                return Backup(None, f"There is not enough space for a backup ({free:,} bytes free, {size:,} needed).")
            backup_sqlite(path, dest, seconds=seconds)
    except StoreError as error:
        return Backup(None, f"The backup could not be made: {error.words}")
    except OSError as error:
        return Backup(None, f"The backup could not be made: {error.strerror or error}.")
    return Backup(dest, fresh=True)


def _say_of(file: Path, path: Path) -> None:
    write_atomic(file, str(path.absolute()).encode("utf-8", "surrogateescape"))


@contextmanager
def _place_held(place: Path, seconds: float) -> Iterator[None]:
    """One process at a time makes backups in a folder; the system lets go when it dies. Raises ``StoreError``."""
    end = time.monotonic() + seconds
    handle = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    words = "Another process has been making one for too long."
                    raise StoreError("busy", place, words, "Try again later.") from None
                time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def backup_sqlite(path: Path, dest: Path, *, seconds: float = 300.0) -> None:
    """Copy the database at ``path``, changes in its ``-wal`` included, into one new file (mode 0600), durable on
    return.

    Writers of ``path`` are not kept waiting. Raises ``StoreError``, ``FileExistsError``: another file is never
    replaced, also where several processes make the same backup.
    """
    if dest.exists():
        raise FileExistsError(dest)
    partial = dest.with_name(f".{dest.name}.{secrets.token_hex(6)}.partial")
    source: sqlite3.Connection | None = None
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        source = open_reader(path)
        target = sqlite3.connect(partial, isolation_level=None)
        try:
            if source.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                # One snapshot: otherwise the copy would start again at every write of the client.
                source.execute("BEGIN")
                source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            source.backup(target, pages=_PAGES, progress=_deadline(path, seconds), sleep=0.05)
            target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()
        _sync(partial)
        put_in_place(partial, dest)
        sync_directory(dest.parent)
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        with undisturbed():
            if source is not None:
                source.close()
            for leftover in database_files(partial):
                leftover.unlink(missing_ok=True)


def put_in_place(partial: Path, dest: Path) -> None:
    """Under its name only when whole, and never over another file. Raises ``FileExistsError``."""
    try:
        os.link(partial, dest)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if dest.exists():
            raise FileExistsError(dest) from None
        partial.rename(dest)


def restore(
    backup: Path, path: Path, *, directory: Path, now: datetime, force: bool = False, seconds: float = 300.0
) -> Restored:
    """Put the backup back as the content of the database at ``path``, as one transaction.

    The backup is checked first, and the present state is backed up into ``directory``. Raises ``StoreError``: the
    backup is damaged or not opencode's or of another database, or another process has ``path`` open (unless forced).
    """
    backup, path = real_place(backup), real_place(path)
    _check_backup(backup)
    if path.exists() and path.samefile(backup):  # it would wait for its own lock, to the last second
        raise StoreError("not-a-store", path, "This is the backup itself.", "Name the database that it is to replace.")
    _check_target(path, force)
    open_by = holders(database_files(path))
    if open_by and not force:
        names = ", ".join(f"{holder.command or 'a process'} ({holder.pid})" for holder in open_by)
        raise StoreError("in-use", path, f"The database is open in {names}.", "Close it first, or force the restore.")
    if path.exists() and not force:
        _check_kin(backup, path)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    previous = directory / f"before-restore-{now.strftime('%Y%m%d-%H%M%S-%f')}.db"
    _say_of(previous.with_suffix(ORIGIN), path)
    if not path.exists():
        _set_aside(path, previous)
        backup_sqlite(backup, path, seconds=seconds)
        return Restored(None, f"{path} was missing and has been made from the backup.")
    try:
        backup_sqlite(path, previous, seconds=seconds)
    except StoreError as error:
        if error.kind not in ("corrupt", "not-a-store") or open_by:
            raise
        # Nothing can be copied out of it or into it: it is kept as it is, and a new file takes its place.
        _set_aside(path, previous)
        try:
            backup_sqlite(backup, path, seconds=seconds)
        except BaseException:
            _set_aside(previous, path)
            raise
        return Restored(
            previous,
            f"{path} could not be read ({error.words}); it was set aside, and the backup put in its place.",
        )
    _copy_into(backup, path, seconds)
    check = quick_check(path)
    if check.state == "damaged":
        raise StoreError(
            "corrupt",
            path,
            f"After the restore the database is damaged: {check.messages[0]}",
            f"The state before is in {previous}.",
        )
    return Restored(previous, f"{path} is as in the backup now; the state before is kept.")


def _check_backup(backup: Path) -> None:
    if not backup.is_file():
        raise StoreError("missing", backup, "There is no such backup.", "Check the path.")
    SqliteStore(backup).close()
    check = quick_check(backup, seconds=600.0)
    if check.state != "ok":
        reason = check.messages[0] if check.messages else "the check took too long"
        raise StoreError("corrupt", backup, f"The backup is not sound: {reason}.", "Choose another one.")


def _check_target(path: Path, force: bool) -> None:
    """Refuse to replace what is no database of opencode's: another program's database or a file of another kind."""
    if not path.exists():
        return
    if not path.is_file():
        raise StoreError(
            "not-a-store", path, "This is no file; a backup can only replace a database.", "Name the file."
        )
    try:
        SqliteStore(path).close()
    except StoreError as error:
        # A damaged database is what a backup is for; one that is sound and not opencode's is somebody else's.
        strange = error.kind == "not-a-store" and (error.__cause__ is None or path.suffix not in _SUFFIXES)
        if strange and not force:
            words = "What would be replaced is no database of opencode's."
            raise StoreError("not-a-store", path, words, "Check the path, or force the restore.") from error


_SUFFIXES = (".db", ".sqlite", ".sqlite3")


def _check_kin(backup: Path, path: Path) -> None:
    """Refuse a backup of some other database: it shares no session with the one it would replace."""
    try:
        with SqliteStore(path) as present, SqliteStore(backup) as kept:
            now, then = set(present.session_ids()), set(kept.session_ids())
    except StoreError:
        return  # what cannot be read is what a backup is for
    if now and then and now.isdisjoint(then):
        raise StoreError(
            "not-a-store",
            backup,
            f"This backup shares no session with {path}: it seems to be of another database.",
            "Choose another one, or force the restore.",
        )


def _copy_into(backup: Path, path: Path, seconds: float) -> None:
    source = open_reader(backup)
    try:
        target = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=5.0, isolation_level=None)
        try:
            harden(target)
            target.execute("PRAGMA synchronous = FULL")
            target.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            source.backup(target, pages=-1, progress=_deadline(path, seconds), sleep=0.1)
        finally:
            target.close()
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        source.close()


def _deadline(path: Path, seconds: float) -> Callable[[int, int, int], None]:
    """SQLite's backup tries again for ever while the file is locked; this ends it."""
    end = time.monotonic() + seconds

    def progress(status: int, remaining: int, total: int) -> None:
        go_on()
        if time.monotonic() > end:
            raise StoreError(
                "busy",
                path,
                "The database stayed locked or kept changing for too long.",
                "Close opencode and try again.",
            )

    return progress


def _set_aside(path: Path, previous: Path) -> None:
    """Move a database's files, so that a new file is not mixed with an old ``-wal``."""
    for file, place in zip(database_files(path), database_files(previous), strict=True):
        if file.exists():
            shutil.move(file, place)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
