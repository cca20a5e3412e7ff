"""Taking in uploads (docs/contract/design.md#4): a copy in a private folder, disarmed, without the customer's secrets.

What is kept of a database is one file: changes of its ``-wal`` are in it, triggers and views are gone, and the tables
``account``, ``control_account`` and ``credential`` hold no secrets any more.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sessions_app.domain.patience import go_on

from . import MAX_TEXT_BYTES, find_inside, open_store
from .archive import ArchiveLimits, is_archive, unpack
from .ground import StoreError, StoreKind
from .sqlite.connection import explained, harden, quoted, read_schema
from .sqlite.damage import Check, quick_check, recover
from .sqlite.schema import probe

SECRET_TABLES = ("account", "control_account", "credential")
_MAGIC = b"SQLite format 3\0"
_WAL_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_CHUNK = 1 << 20
_PER_MESSAGE = re.compile(rb'"(?:info|parts|seq)"')


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes that are taken in, by kind."""

    database: int = 10 * 1024**3
    text: int = MAX_TEXT_BYTES
    archive: ArchiveLimits = field(default_factory=ArchiveLimits)
    messages: int = 50_000
    """Of a text, all of which is read again whenever one of its sessions is."""


@dataclass(frozen=True, slots=True)
class Intake:
    """What was kept of an upload. ``sha256`` and ``bytes`` are of the file as it came; ``notes`` are for the user."""

    path: Path
    kind: StoreKind
    sha256: str
    bytes: int
    notes: tuple[str, ...] = ()


class Readable(Protocol):
    """A file as it arrives."""

    def read(self, size: int = -1, /) -> bytes: ...


def take_in(
    upload: Readable, folder: Path, *, name: str, wal: Readable | None = None, limits: Limits | None = None
) -> Intake:
    """Keep an upload in the new folder ``folder``. ``name`` is the file's name as the user has it; ``wal`` its
    ``-wal``, if given.

    Raises ``StoreError`` (nothing is kept then), ``FileExistsError`` where the folder exists.
    """
    limits = limits or Limits()
    folder.mkdir(mode=0o700, parents=True)
    try:
        return _kept(upload, folder, Path(name.replace("\\", "/")).name or "upload", wal, limits)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _kept(upload: Readable, folder: Path, name: str, wal: Readable | None, limits: Limits) -> Intake:
    head = upload.read(len(_MAGIC))
    raw = folder / "upload.part"
    is_database = head == _MAGIC
    archived = is_archive(Path(name))
    limit = limits.database if is_database or archived else limits.text
    digest, size = _copy(upload, raw, limit, name, head)
    if is_database:
        notes = _database(raw, folder / "opencode.db", name, wal, limits)
        return Intake(folder / "opencode.db", "sqlite", digest, size, tuple(notes))
    if archived:
        return _archive(raw, folder, name, digest, size, limits)
    kept = raw.rename(folder / "session.json")
    _refuse_too_many(kept, name, limits.messages)
    try:
        with open_store(kept) as store:
            return Intake(
                kept,
                store.kind,
                digest,
                size,
                tuple(f"{problem.where}: {problem.reason}" for problem in store.problems),
            )
    except StoreError as error:
        raise StoreError(error.kind, name, error.words, error.next_step) from error


def _refuse_too_many(text: Path, name: str, limit: int) -> None:
    """Count messages by a member that each has (inside texts its quotes are escaped), before anything is parsed."""
    if not text.stat().st_size:
        return
    counts: Counter[bytes] = Counter()
    with text.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for found in _PER_MESSAGE.finditer(content):
            counts[found[0]] += 1
            if counts[found[0]] > limit + 1:  # the session itself may have it too
                raise StoreError(
                    "too-big",
                    name,
                    f"The file holds more than {limit:,} messages, which is more than is read from one text.",
                    "Give the database instead.",
                )


def _archive(raw: Path, folder: Path, name: str, digest: str, size: int, limits: Limits) -> Intake:
    packed = raw.rename(folder / f"upload{''.join(Path(name.lower()).suffixes[-2:])}")
    tree = folder / "unpacked"
    tree.mkdir(mode=0o700)
    unpack(packed, tree, limits.archive)
    packed.unlink()
    inner = find_inside(tree)
    if inner is None:
        raise StoreError(
            "empty-folder",
            name,
            "The archive holds no sessions of opencode.",
            "Pack the storage folder, or the database with its -wal.",
        )
    if inner.is_dir():
        return Intake(inner, "storage", digest, size)
    wal = Path(f"{inner}-wal")
    kept = folder / "opencode.db"
    if wal.is_file():
        with wal.open("rb") as content:
            notes = _database(inner, kept, name, content, limits)
    else:
        notes = _database(inner, kept, name, None, limits)
    shutil.rmtree(tree)
    return Intake(kept, "sqlite", digest, size, tuple(notes))


def _database(raw: Path, kept: Path, name: str, wal: Readable | None, limits: Limits) -> list[str]:
    notes = []
    with raw.open("rb") as file:
        in_wal_mode = file.read(20)[18:20] == b"\x02\x02"
    raw.rename(kept)
    if wal is not None:
        head = wal.read(4)
        if head[:4] in _WAL_MAGICS:
            _copy(wal, Path(f"{kept}-wal"), limits.database, name, head)
        elif head:
            raise StoreError(
                "not-a-store",
                name,
                "The file given as -wal is none.",
                "Give the -wal that lies beside the database.",
            )
    elif in_wal_mode:
        notes.append("The database came without its -wal: the newest changes may be missing.")
    try:
        notes += disarm(kept)
    except StoreError as error:
        if error.kind != "corrupt":
            raise StoreError(error.kind, name, error.words, error.next_step) from error
        notes += _recovered(kept, error)
    return notes


def _recovered(kept: Path, error: StoreError) -> list[str]:
    """A damaged database cannot be cleared of its secrets in place; what can be saved goes into a new file, which
    can."""
    saved = kept.with_name("recovered.db")
    result = recover(kept, saved)
    for leftover in (kept, Path(f"{kept}-wal"), Path(f"{kept}-shm")):
        leftover.unlink(missing_ok=True)
    saved.rename(kept)
    lost = sum(result.lost.values())
    words = [
        f"The database is damaged ({error.words}); what could be read was saved into a new file: {lost} rows of"
        f" {len(result.lost)} sessions are lost."
    ]
    return [*words, *result.notes, *disarm(kept)]


def disarm(path: Path, *, vacuum_below: int = 1024**3) -> list[str]:
    """Make a database of our own harmless: one file, no triggers, no views, no secrets. Returns notes for the user.

    Raises ``StoreError`` ("corrupt" where it is damaged, "not-a-store" where it is not opencode's).
    """
    notes: list[str] = []
    connection = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    try:
        harden(connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)  # VACUUM works in a database of its own
        read_schema(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        schema = probe(connection)
        if not schema.is_opencode:
            raise StoreError(
                "not-a-store",
                path,
                "This is a SQLite database, but not one of opencode's: it has no sessions.",
            )
        _drop_what_runs(connection, notes)
        cleared = _clear_secrets(connection)
        if cleared and path.stat().st_size < vacuum_below:
            connection.execute("VACUUM")  # old copies of the secrets may lie in free pages
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        connection.close()
    check: Check = quick_check(path)
    if check.state == "damaged":
        raise StoreError(
            "corrupt", path, f"The database is damaged: {check.messages[0]}", "Recover it into a new file."
        )
    os.chmod(path, 0o600)
    return notes


def _drop_what_runs(connection: sqlite3.Connection, notes: list[str]) -> None:
    schema = probe(connection)
    for name, _ in schema.triggers:
        connection.execute(f"DROP TRIGGER IF EXISTS {quoted(name)}")
    for name in schema.passed_over:
        kind = connection.execute("SELECT type FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        try:
            connection.execute(f"DROP {'VIEW' if kind == ('view',) else 'TABLE'} IF EXISTS {quoted(name)}")
        except sqlite3.Error:
            notes.append(f"{name} is a virtual table that cannot be removed; it is never read.")
    removed = len(schema.triggers) + len(schema.passed_over)
    if removed:
        notes.append(
            f"{removed} triggers, views or virtual tables were removed from the copy; they are not opencode's."
        )


def _clear_secrets(connection: sqlite3.Connection) -> bool:
    """Every text of the secret tables but their keys becomes "". Returns whether there were any rows."""
    tables = probe(connection).tables
    found = False
    connection.execute("PRAGMA secure_delete = ON")
    for name in SECRET_TABLES:
        table = tables.get(name)
        if table is None or not connection.execute(f"SELECT 1 FROM {quoted(name)} LIMIT 1").fetchone():
            continue
        found = True
        for column in table.columns:
            if column not in table.key:
                cell = quoted(column)
                connection.execute(f"UPDATE {quoted(name)} SET {cell} = '' WHERE typeof({cell}) IN ('text', 'blob')")
    return found


def _copy(source: Readable, dest: Path, limit: int, name: str, head: bytes) -> tuple[str, int]:
    """Copy what is left of a stream behind ``head``; returns its hash and size."""
    digest = hashlib.sha256(head)
    size = len(head)
    handle = os.open(dest, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(head)
        while chunk := source.read(_CHUNK):
            go_on()
            size += len(chunk)
            if size > limit:
                raise StoreError(
                    "too-big",
                    name,
                    f"The upload is larger than {limit:,} bytes.",
                    "Attach the file in place, or raise the limit.",
                )
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest(), size
