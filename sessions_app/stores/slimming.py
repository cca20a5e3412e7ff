"""A database written anew without what only takes room: superseded events (``eventlog``) and free pages.

Rows are copied table by table as SQLite's VACUUM INTO does, into a file of its own that gets its name only when all of
it was checked against the old one, which is only read.
"""

from __future__ import annotations

import glob
import os
import random
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sessions_app.domain.patience import go_on, over

from .atomic import sync_directory
from .backup import put_in_place
from .ground import Hook, StoreError, no_hook, real_place
from .holders import database_files
from .sqlite.connection import explained, harden, open_reader, quoted
from .sqlite.damage import only_literal
from .sqlite.eventlog import Log, Recent, logged, readable, session_log
from .sqlite.schema import Schema, Table, probe

type Progress = Callable[[str, int, int], object]
"""Hears what is being done, and how much of how much."""

_BETWEEN = 200_000
"""Steps of SQLite between two looks at how far a statement is."""
_CACHE = -64 * 1024
_SPARE = 16 * 1024**2
"""Bytes that are left free on the disk beside what is to be written."""


@dataclass(slots=True)
class Survey:
    """What the event log of a store holds: ``removed`` of ``events`` are superseded, ``freed`` of ``size`` bytes.
    ``strange`` bytes are of kinds that are not known here, and stay; ``whole``: the sessions whose logs are left as
    they are, with the reasons."""

    events: int = 0
    size: int = 0
    removed: int = 0
    freed: int = 0
    strange: int = 0
    whole: list[Log] = field(default_factory=list)

    def take(self, log: Log) -> None:
        self.events += log.events
        self.size += log.size
        self.removed += len(log.superseded)
        self.freed += log.freed
        self.strange += log.strange
        if log.whole and log.events:
            self.whole.append(log)


@dataclass(frozen=True, slots=True)
class Slimmed:
    """What was written, ``before`` and ``after`` in bytes of the whole database."""

    survey: Survey
    before: int
    after: int


def survey(path: Path, *, young: Recent | None, progress: Progress, most: int = 0) -> Survey:
    """What slimming would take out; nothing is written. ``most``: bytes of events after which it is enough, taken from
    sessions all over the store (0 = all of them). Raises ``StoreError``."""
    found = Survey()
    with _told(path), closing(open_reader(path)) as connection:
        schema = checked(path, probe(connection))
        connection.text_factory = bytes
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        connection.execute("BEGIN")
        if readable(schema):
            sessions = logged(connection, "main")
            if most:
                random.Random(0).shuffle(sessions)
            for done, session_id in enumerate(sessions):
                go_on()
                progress("Reading the event log", done, len(sessions))
                found.take(session_log(connection, "main", schema, session_id, young))
                if most and found.size > most:
                    break
    return found


def slim_into(
    path: Path, dest: Path, *, young: Recent | None, progress: Progress, at: Hook = no_hook, mode: int = 0o600
) -> Slimmed:
    """Write the database at ``path``, slimmed, into the new file ``dest``, checked and durable on return.

    Raises ``StoreError``, ``FileExistsError``; there is no ``dest`` then.
    """
    path, dest = real_place(path), real_place(dest)
    if dest.exists():
        raise FileExistsError(dest)
    for leftover in dest.parent.glob(f".{glob.escape(dest.name)}.*.slim*"):  # of a process that was killed
        leftover.unlink(missing_ok=True)
    partial = dest.with_name(f".{dest.name}.{secrets.token_hex(6)}.slim")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        with _told(path), closing(_attached(path, partial)) as connection:
            made = _Slimming(connection, path, partial, progress, at).run(young)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        at("checked")
        put_in_place(partial, dest)
        sync_directory(dest.parent)
    finally:
        for leftover in database_files(partial):
            leftover.unlink(missing_ok=True)
    return made


def checked(path: Path, schema: Schema) -> Schema:
    """The schema, of which every row is copied as it is. Raises ``StoreError`` for one that is not the client's own."""
    strange = [*schema.faults, *(f"trigger {name} is not the client's" for name, _ in schema.triggers)]
    strange += [f"view or virtual table {name} is not the client's" for name in schema.passed_over]
    strange += [f"table {table.name} has computed columns" for table in schema.tables.values() if table.generated]
    if not schema.is_opencode:
        strange.append("file is no store of opencode's: it has no sessions")
    if strange:
        words = f"The {strange[0]}, so it cannot be told what else belongs to it; nothing is written."
        raise StoreError("schema", path, words, "VACUUM of the sqlite3 program gives free pages back.")
    return schema


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from error


def _attached(path: Path, partial: Path) -> sqlite3.Connection:
    """The new database, with the old one as ``old``, which is only read."""
    with closing(open_reader(path)) as reader:
        pragmas = {name: reader.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "encoding")}
        pragmas["auto_vacuum"] = reader.execute("PRAGMA auto_vacuum").fetchone()[0]
    connection = sqlite3.connect(f"{partial.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        for name, value in pragmas.items():
            connection.execute(f"PRAGMA {name} = '{value}'")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        harden(connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
        connection.execute("ATTACH ? AS old", (f"{path.absolute().as_uri()}?mode=ro",))
        connection.execute(f"PRAGMA old.cache_size = {_CACHE}")
    except BaseException:
        connection.close()
        raise
    return connection


class _Slimming:
    def __init__(self, connection: sqlite3.Connection, path: Path, partial: Path, progress: Progress, at: Hook) -> None:
        self.connection, self.path, self.partial, self.progress, self.at = connection, path, partial, progress, at
        self.words, self.expected = "", 1
        self.survey, self.before = Survey(), 0

    def run(self, young: Recent | None) -> Slimmed:
        connection = self.connection
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM old.sqlite_schema").fetchone()  # one state of it from here on
        with closing(open_reader(self.path)) as reader:
            schema = checked(self.path, probe(reader))
        page, pages, free = (self._pragma(f"old.{name}") for name in ("page_size", "page_count", "freelist_count"))
        connection.execute("CREATE TEMP TABLE gone (event INTEGER PRIMARY KEY)")
        if readable(schema):
            self._read_log(schema, young)
        self.before = page * pages
        self.expected = max(page * (pages - free) - self.survey.freed, page)
        self._room()
        self.at("surveyed")
        connection.set_progress_handler(self._look, _BETWEEN)
        self.words = "Copying"
        self._copy(schema)
        self.at("copied")
        self.words = "Checking"
        self._check(schema)
        connection.execute("COMMIT")
        self._keep_mode()
        if (said := connection.execute("PRAGMA main.quick_check(1)").fetchone()[0]) != "ok":
            raise self._failed(str(said))
        after = page * self._pragma("main.page_count")
        return Slimmed(self.survey, self.before, after)

    def _pragma(self, name: str) -> int:
        return int(self.connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _look(self) -> int:
        self.progress(self.words, min(self.partial.stat().st_size, self.expected), self.expected)
        return int(over())

    def _failed(self, words: str) -> StoreError:
        found = f"The copy is not what the old file holds ({words}); it was thrown away."
        return StoreError("busy", self.path, found, "Close every client and try again; check the disk.")

    def _read_log(self, schema: Schema, young: Recent | None) -> None:
        connection = self.connection
        connection.text_factory = bytes
        sessions = logged(connection, "old")
        for done, session_id in enumerate(sessions):
            go_on()
            self.progress("Reading the event log", done, len(sessions))
            log = session_log(connection, "old", schema, session_id, young)
            connection.executemany("INSERT INTO temp.gone VALUES (?)", ((event,) for event in log.superseded))
            self.survey.take(log)
            log.superseded = []
        connection.text_factory = str

    def _room(self) -> None:
        grown = max(self.before - self.path.stat().st_size, 0)  # what is in its -wal, which a client takes in
        needed, free = self.expected + grown + _SPARE, shutil.disk_usage(self.partial.parent).free
        if free < needed:
            words = f"The disk has {free:,} bytes free, and the new file needs about {needed:,}."
            raise StoreError("full", self.partial.parent, words, "Make room, or name an output on another disk.")

    def _copy(self, schema: Schema) -> None:
        made = self._definitions("old")
        late = [sql for kind, _, table, sql in made if kind == "index" and table == "event"]
        first = [sql for kind, _, table, sql in made if kind == "table" or table != "event"]
        if "sqlite_stat1" in schema.tables:
            self.connection.execute("ANALYZE main.sqlite_schema")  # makes that table
        self._define(sorted(first, key=lambda sql: sql.upper().startswith("CREATE TABLE"), reverse=True))
        for name, table in schema.tables.items():
            if name == "event" and table.has_rowid:
                columns = ", ".join(map(quoted, ("rowid", *table.columns)))
                self.connection.execute(
                    f"INSERT INTO main.event ({columns}) SELECT {columns} FROM old.event"
                    " WHERE rowid NOT IN (SELECT event FROM temp.gone)"
                )
            else:  # whole records, without looking into them, where SQLite can
                self.connection.execute(f"INSERT INTO main.{quoted(name)} SELECT * FROM old.{quoted(name)}")
        self._define(late)
        for pragma in ("user_version", "application_id"):
            self.connection.execute(f"PRAGMA main.{pragma} = {self._pragma(f'old.{pragma}')}")

    def _definitions(self, place: Literal["old", "main"]) -> list[tuple[str, str, str, str]]:
        return self.connection.execute(
            f"SELECT type, name, tbl_name, sql FROM {place}.sqlite_schema"
            " WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*' ORDER BY type, name"
        ).fetchall()

    def _define(self, definitions: list[str]) -> None:
        self.connection.set_authorizer(only_literal)
        try:
            for sql in definitions:
                self.connection.execute(sql)
        finally:
            self.connection.set_authorizer(None)

    def _check(self, schema: Schema) -> None:
        """Every row of every table is the old one's byte for byte, events but for the superseded, and numbers go on
        where they were: all that a scan reads."""
        if self._definitions("old") != self._definitions("main"):
            raise self._failed("the tables differ")
        for name, table in schema.tables.items():
            gone = self.survey.removed if name == "event" else 0
            old, new, same = (self._count(sql) for sql in _counts(table))
            if not new == same == old - gone:
                raise self._failed(f"table {name}: {same:,} of {old - gone:,} rows are the same")
        if readable(schema):
            last = "(SELECT max(seq) FROM {}.event WHERE aggregate_id = number.aggregate_id)"
            moved = f"SELECT count(*) FROM old.event_sequence number WHERE {last} IS NOT {last}".format("old", "main")
            if self._count(moved):
                raise self._failed("the last number of a session's events differs")

    def _count(self, sql: str) -> int:
        return int(self.connection.execute(sql).fetchone()[0])

    def _keep_mode(self) -> None:
        """The journal mode is written in the file; the client's is WAL."""
        mode = self.connection.execute("PRAGMA old.journal_mode").fetchone()[0]
        self.connection.execute(f"PRAGMA main.journal_mode = {'WAL' if mode == 'wal' else 'DELETE'}")


def _counts(table: Table) -> tuple[str, str, str]:
    """SQL that counts the old rows, the new rows, and those that are the same in both."""
    name = quoted(table.name)
    keys = ("rowid",) if table.has_rowid else tuple(map(quoted, table.key))
    on = " AND ".join(f"old_.{key} = new_.{key}" for key in keys)
    columns = map(quoted, table.columns)
    same = " AND ".join(
        f"old_.{one} COLLATE BINARY IS new_.{one} AND typeof(old_.{one}) = typeof(new_.{one})" for one in columns
    )
    return (
        f"SELECT count(*) FROM old.{name}",
        f"SELECT count(*) FROM main.{name}",
        f"SELECT count(*) FROM main.{name} new_ CROSS JOIN old.{name} old_ ON {on} WHERE {same}",
    )
