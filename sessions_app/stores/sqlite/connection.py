"""Opening foreign SQLite files (docs/contract/design.md#5.2): hostile until proven otherwise, and never disturbed.

Every connection distrusts the schema, refuses extensions, runs under SQLite's own limits and never runs a trigger or a
view.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from sessions_app.domain.patience import go_on, over
from sessions_app.stores.ground import ErrorKind, StoreError, real_place

MAX_VALUE_BYTES = 512 * 1024 * 1024
"""The longest single value that is read; SQLite answers "too big" beyond it."""

BUSY_SECONDS = 3.0
_BETWEEN = 100_000
"""Steps of SQLite, a few milliseconds, between two looks at the limit of time (domain/patience.py)."""
"""How long to wait for another process's lock: below the client's own five seconds (docs/contract/formats.md#a7)."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

_KINDS: dict[int, tuple[ErrorKind, str, str]] = {
    sqlite3.SQLITE_NOTADB: (
        "not-a-store",
        "The file is not a SQLite database.",
        "Check that the right file was chosen.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "corrupt",
        "The database disk image is malformed.",
        "Recover it into a new file; keep this one together with its -wal.",
    ),
    sqlite3.SQLITE_BUSY: (
        "busy",
        "Another process holds a lock on the database.",
        "Try again in a moment, or close opencode.",
    ),
    sqlite3.SQLITE_LOCKED: (
        "busy",
        "Another process holds a lock on the database.",
        "Try again in a moment, or close opencode.",
    ),
    sqlite3.SQLITE_READONLY: (
        "permission",
        "The database or its folder cannot be written.",
        "Check the permissions of file and folder.",
    ),
    sqlite3.SQLITE_PERM: (
        "permission",
        "The database cannot be accessed.",
        "Check the permissions of file and folder.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "permission",
        "The database cannot be opened.",
        "Check the permissions of file and folder.",
    ),
    sqlite3.SQLITE_FULL: ("full", "The disk is full.", "Free some space and try again; nothing was written."),
    sqlite3.SQLITE_INTERRUPT: (
        "too-long",
        "The query took too long and was stopped.",
        "Try again when the machine is less busy.",
    ),
    sqlite3.SQLITE_TOOBIG: ("too-big", "A value in the database is too big to be read.", ""),
    sqlite3.SQLITE_IOERR_WRITE: (
        "full",
        "The disk did not take what was written: it is failing, or files may not grow that large (ulimit -f).",
        "Nothing was written; make room and try again.",
    ),
    sqlite3.SQLITE_IOERR: (
        "corrupt",
        "The disk gave an error while the database was read or written.",
        "Copy the database with its -wal to another disk.",
    ),
}


def explained(error: sqlite3.Error, path: Path) -> StoreError:
    """A ``StoreError`` with the kind, the words and the next step for what SQLite says. Raises ``OutOfTime``: what it
    says is that we stopped it."""
    go_on()
    code = getattr(error, "sqlite_errorcode", None) or 0
    kind, words, next_step = _KINDS.get(code) or _KINDS.get(code & 0xFF) or _named(str(error))
    return StoreError(kind, path, f"{words} (SQLite: {error})", next_step)


def _named(said: str) -> tuple[ErrorKind, str, str]:
    """The cause where SQLite has one code for many."""
    if "no such column" in said or "no such table" in said:
        return "schema", "The database lacks a column or table that opencode's databases have.", ""
    if "generated column" in said:
        return "schema", "A column that would be written is generated; in opencode's databases it is stored.", ""
    return "schema", "The database cannot be read as expected.", ""


def open_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection; a WAL in use by a running client is read as it should be.

    Where the folder cannot be written and so no ``-shm`` can be made, the file is read as immutable, but only if there
    is no ``-wal`` with changes that this would hide. What a writer that died left half written is taken back first,
    as SQLite does for every program that may write there. Raises ``StoreError``.
    """
    path = real_place(path)
    if _has_content(Path(f"{path}-journal")):
        with contextlib.suppress(sqlite3.Error):
            _opened(path, "mode=rw").close()
    try:
        return _opened(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if (error.sqlite_errorcode & 0xFF) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise explained(error, path) from error
        for end in ("-wal", "-journal"):
            if _has_content(Path(f"{path}{end}")):
                raise StoreError(
                    "permission",
                    path,
                    f"The database has changes in its {end}, which cannot be read because the folder cannot be"
                    " written.",
                    f"Copy the database together with its {end} into a folder of your own, or allow writing to the"
                    " folder.",
                ) from error
        try:
            return _opened(path, "mode=ro&immutable=1")
        except sqlite3.Error as second:
            raise explained(second, path) from second
    except sqlite3.Error as error:
        raise explained(error, path) from error


type FileIdentity = tuple[int, int] | None
"""Device and inode, which tell a file from another that is put in its place; None where there is none."""


def identity(path: Path) -> FileIdentity:
    """Which file is at ``path`` now."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def open_identified(path: Path) -> tuple[sqlite3.Connection, FileIdentity]:
    """``open_reader``, and which file it has open. Raises ``StoreError``."""
    for _ in range(3):
        before = identity(path)
        connection = open_reader(path)
        if identity(path) == before:
            return connection, before
        connection.close()
    raise StoreError("busy", path, "The file is replaced again and again.", "Try again in a moment.")


def open_writer(path: Path) -> sqlite3.Connection:
    """A connection for one guarded write: durable commits, and what belongs to what is checked by ``kinship``.

    Raises ``StoreError``.
    """
    try:
        connection = _opened(path, "mode=rw")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        raise explained(error, path) from error
    return connection


@contextlib.contextmanager
def time_limit(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Statements inside are interrupted (``SQLITE_INTERRUPT``) when the time is over."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: int(time.monotonic() > end or over()), 10_000)
    try:
        yield
    finally:
        connection.set_progress_handler(over, _BETWEEN)


@functools.lru_cache(maxsize=1_000)
def quoted(name: str) -> str:
    """A name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def escaping_text(raw: bytes) -> str:
    """Text as stored, bytes that are not UTF-8 kept as surrogate escapes (domain/model.py, ``Value``)."""
    return raw.decode("utf-8", "surrogateescape")


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        harden(connection)
        if "mode=ro" in mode:
            connection.execute("PRAGMA query_only = ON")
        read_schema(connection)
        connection.set_progress_handler(over, _BETWEEN)
    except BaseException:
        connection.close()
        raise
    return connection


def harden(connection: sqlite3.Connection) -> None:
    """What every connection to a foreign file gets before its first statement."""
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_TRUSTED_SCHEMA, False)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, False)
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")


def read_schema(connection: sqlite3.Connection) -> None:
    """The first statement, which has SQLite read the schema. Raises ``sqlite3.Error`` also where SQLite's words about a
    damaged schema quote bytes that are no text: Python answers with a ``UnicodeDecodeError`` then."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except UnicodeDecodeError:
        error = sqlite3.DatabaseError("malformed database schema")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error from None


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False
