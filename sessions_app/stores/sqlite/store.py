"""opencode's database, read in place (docs/contract/formats.md#a3, #b1) while a client may be writing it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from sessions_app.domain.model import V1, V2, DialectName, Row, SessionRows
from sessions_app.domain.repair import RowChange
from sessions_app.stores.base import (
    Hook,
    Mark,
    Problem,
    Store,
    StoreError,
    files_state,
    fingerprint,
    used,
)
from sessions_app.stores.holders import Holder, database_files, holders
from sessions_app.stores.spool import collected

from .binding import bound, where
from .connection import escaping_text, explained, open_identified, quoted, time_limit
from .schema import Schema, Table, probe
from .writer import write

READ_SECONDS = 60.0
"""The longest that one query may run."""

_CHUNK = 200
"""Session rows fetched at once, so that a slow reader holds no transaction that would keep the client's WAL growing."""


_SESSION_SIZE, _ROW_SIZE = 10_000, 2_000
"""Characters that a session, and each row of its history, is taken to have where it is only counted."""

_LISTED = ("time_updated", "time_archived", "project_id", "directory", "path")
"""Columns of a session's row by which a change of it is seen; filing it elsewhere does not touch its times."""


class SqliteStore(Store):
    """A database of any version from 1.2.1 to 1.18.33, or of 2.x. Raises ``StoreError`` where it is none."""

    kind = "sqlite"
    writable = True
    transactional = True

    def __init__(self, path: Path, read_seconds: float = READ_SECONDS) -> None:
        super().__init__(path)
        self.read_seconds = read_seconds
        self.connection, self.identity = open_identified(self.path)
        self.on_close(self.connection.close)
        try:
            self.schema: Schema = probe(self.connection)
            self._projects: list[Row] | None = None
            self._dialects = self._found_dialects()
            if not self.schema.is_opencode:
                raise StoreError(
                    "not-a-store",
                    self.path,
                    "This is a SQLite database, but not one of opencode's: it has no sessions.",
                    "Check that the right file was chosen.",
                )
            self.problems += [Problem("schema", f"The {fault}.") for fault in self.schema.faults]
        except sqlite3.Error as error:
            self.close()
            raise explained(error, self.path) from error
        except BaseException:
            self.close()
            raise

    @property
    def dialects(self) -> tuple[DialectName, ...]:
        return self._dialects

    def sessions(self) -> Iterator[Row]:
        ids = self.session_ids()
        for start in range(0, len(ids), _CHUNK):
            for session_id in ids[start : start + _CHUNK]:
                row = self._session(session_id)
                if row is not None:  # deleted by the client in the meantime
                    yield row

    def stored(self, session_id: str) -> SessionRows:
        with self.snapshot():
            return self._read(session_id, self.all_projects())

    def beside_messages(self, session_id: Any) -> SessionRows:
        """``read`` without the rows of ``message`` and ``part``, and without siblings. Raises ``StoreError``."""
        rows = self._read(session_id, self.all_projects(), whole=False)
        return replace(rows, models=self.models(rows.session, rows.projects))

    @contextmanager
    def projects_held(self) -> Iterator[None]:
        """Projects are read once for all sessions that are read within."""
        self._projects = self.all_projects()
        try:
            yield
        finally:
            self._projects = None

    def read_all(self) -> Iterator[SessionRows]:
        with self.projects_held():
            yield from super().read_all()

    def row(self, table: str, key: Mapping[str, Any]) -> Row | None:
        real = self.schema.real(table)
        if real is None:
            return None
        condition, values = where(key)
        found = self.query(f"{real.select()} WHERE {condition} LIMIT 2", values)
        return dict(zip(real.columns, found[0], strict=True)) if len(found) == 1 else None

    def mark(self) -> Mark:
        """Per session: its row's time, how many messages and parts it has and when one was last written, and the
        client's own counter of events (``event_sequence``, 1.14 on)."""
        files = self.file_state()  # before the rows are read: a write in between makes the next look thorough
        with self.snapshot():
            states: dict[Any, list[object]] = {key: [] for key in self.session_ids()}
            self._look(states)
        return Mark({str(key): fingerprint(*values) for key, values in states.items()}, files)

    def mark_of(self, session_id: Any) -> str:
        states: dict[Any, list[object]] = {session_id: []}
        with self.snapshot():
            self._look(states, (session_id,))
        return fingerprint(*states[session_id])

    def _look(self, states: dict[Any, list[object]], only: tuple[Any, ...] = ()) -> None:
        """Fill in what ``mark`` looks at, of every session or only of one."""

        def of(column: str) -> tuple[str, Sequence[Any]]:
            condition, values = where({column: only[0]}) if only else ("", ())
            return (f" WHERE {condition}" if only else ""), values

        for name in self.schema.session_tables:
            known = [column for column in _LISTED if self.schema.has(name, column)]
            condition, values = of("id")
            self._collect(states, f"SELECT {', '.join(('id', *known))} FROM {quoted(name)}{condition}", values)
        for table in ("message", "part", "session_message"):
            if self.schema.has(table, "time_updated"):
                # NOT INDEXED: of all sessions, one pass in file order beats a random access per index entry.
                newest = "rowid" if self.schema.tables[table].has_rowid else "id"
                condition, values = of("session_id")
                self._collect(
                    states,
                    f"SELECT session_id, count(*), max(time_updated), sum(time_updated % 1000003), max({newest})"
                    f" FROM {table}{condition or ' NOT INDEXED'} GROUP BY session_id",
                    values,
                )
        if self.schema.has("event_sequence"):
            condition, values = of("aggregate_id")
            self._collect(states, f"SELECT aggregate_id, seq FROM event_sequence{condition}", values)

    def file_state(self) -> str:
        database, wal, _ = database_files(self.path)
        return files_state(database, wal)

    def holders(self) -> list[Holder]:
        return holders(database_files(self.path))

    def _write(self, net: Sequence[RowChange], expect: Mapping[str, str], at: Hook) -> float:
        if faults := self.schema.faults:
            raise StoreError(
                "schema",
                self.path,
                f"The {faults[0]}, so what is stored cannot be told for sure; nothing is written.",
                "Have the client that made it bring its tables up to date, or restore a backup.",
            )
        return write(self.path, net, expect, at, read=self.read, opened=self.identity, restoring=self.restoring)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several queries of one state of the file."""
        if self.connection.in_transaction:
            yield
            return
        self._run("BEGIN")
        try:
            yield
        finally:
            self.connection.rollback()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query. Raises ``StoreError``."""
        return self._run(sql, values)

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._fetch(sql, values)
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    def _fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._taken(sql, values, sqlite3.Cursor.fetchall)

    def _taken[T](self, sql: str, values: Sequence[Any], take: Callable[[sqlite3.Cursor], T]) -> T:
        """What ``take`` makes of a query's rows; called again where text turns out not to be UTF-8."""
        with time_limit(self.connection, self.read_seconds):
            try:
                return take(self.connection.execute(sql, values))
            except sqlite3.OperationalError as error:
                if "decode to UTF-8" not in str(error):
                    raise
            self.connection.text_factory = escaping_text
            try:
                return take(self.connection.execute(sql, values))
            finally:
                self.connection.text_factory = str

    def _read(self, session_id: str, projects: list[Row], *, whole: bool = True) -> SessionRows:
        session = self._session(session_id)
        if session is None:
            raise StoreError("no-session", self.path, f"There is no session {session_id}.")
        epochs = self._owned("session_context_epoch", session_id)
        v2_rows, inputs = self._v2_rows(session_id), self._owned("session_input", session_id)
        # V1 sessions have a number there too; nothing of theirs is read by it.
        sequence, last_event = self._numbering(session_id, v2=bool(v2_rows or inputs))
        return SessionRows(
            session=session,
            messages=_ordered(self._owned("message", session_id), "time_created", "id") if whole else [],
            parts=_ordered([*self._owned("part", session_id), *self._strays(session_id)], "message_id", "id")
            if whole
            else [],
            session_message=v2_rows,
            projects=projects,
            epoch=epochs[0] if epochs else None,
            siblings=self._siblings(session) if whole else [],
            inputs=_ordered(inputs, "admitted_seq"),
            sequence=sequence,
            last_event=last_event,
        )

    def _session(self, session_id: Any) -> Row | None:
        for name in self.schema.session_tables:
            table = self.schema.tables[name]
            found = self._rows(table, "id", session_id)
            if found:
                return found[0]
        return None

    def session_ids(self) -> list[Any]:
        found: dict[Any, tuple[Any, ...]] = {}
        for name in self.schema.session_tables:
            recent = "time_updated" if self.schema.has(name, "time_updated") else "id"
            for session_id, updated in self.query(f"SELECT id, {recent} FROM {quoted(name)}"):
                found.setdefault(session_id, (_rank(updated), _rank(session_id)))
        return sorted(found, key=found.__getitem__, reverse=True)

    def last_used(self) -> list[tuple[str, str, int]]:
        found: dict[str, tuple[str, str, int]] = {}
        for name in self.schema.session_tables:
            columns = [one if self.schema.has(name, one) else "NULL" for one in ("version", "time_updated")]
            for row in self.query(f"SELECT id, {', '.join(columns)} FROM {quoted(name)}"):
                line = used(*row)
                found.setdefault(line[0], line)
        return sorted(found.values(), key=lambda line: (line[2], line[0]), reverse=True)

    def sizes(self) -> dict[Any, int]:
        """By the number of rows, which an index tells."""
        found = dict.fromkeys(self.session_ids(), _SESSION_SIZE)
        for name in ("part", "session_message"):
            if not self.schema.has(name, "session_id"):
                continue
            with suppress(StoreError):  # damaged: told where it is read
                for session_id, count in self.query(f"SELECT session_id, count(*) FROM {name} GROUP BY session_id"):
                    if session_id in found:
                        found[session_id] += count * _ROW_SIZE
        return found

    def _owned(self, name: str, session_id: str, owner: str = "session_id") -> list[Row]:
        table = self.schema.tables.get(name)
        return [] if table is None or owner not in table.columns else self._rows(table, owner, session_id)

    def _numbering(self, session_id: str, *, v2: bool) -> tuple[Row | None, int | None]:
        """The row of ``event_sequence`` and the greatest number of an event; of a V1 session where they do not fit.

        Since 1.18.11 an index finds that number at once (docs/contract/formats.md#a3).
        """
        if not (self.schema.has("session_message", "seq") and self.schema.has("event", "seq")):
            return None, None
        sequences = self._owned("event_sequence", session_id, "aggregate_id")
        condition, values = where({"aggregate_id": session_id})
        [(found,)] = self.query(f"SELECT max(seq) FROM event WHERE {condition}", values)
        last = found if isinstance(found, int) else -1
        number = sequences[0].get("seq") if sequences else -1
        if not v2 and isinstance(number, int) and number >= last:
            return None, None
        return (sequences[0] if sequences else None), last

    def _strays(self, session_id: str) -> list[Row]:
        """Parts of this session's messages that name another session (docs/contract/rules.md#2.29): the client sends
        them (docs/contract/formats.md#a3)."""
        if not (self.schema.has("part", "message_id") and self.schema.has("message", "session_id")):
            return []
        part = self.schema.tables["part"]
        name = "rowid" if part.has_rowid else "id"
        mark, value = bound(session_id)
        found = self.query(
            "SELECT part.{0} FROM message JOIN part ON part.message_id = message.id WHERE message.session_id IS {1}"
            " EXCEPT SELECT {0} FROM part WHERE session_id IS {1}".format(name, mark.replace("?", "?1")),
            (value,),
        )
        return [row for (value,) in found for row in self._rows(part, name, value)]

    def _v2_rows(self, session_id: str) -> list[Row]:
        rows = self._owned("session_message", session_id)
        order = ("seq",) if self.schema.has("session_message", "seq") else ("time_created", "id")
        return _ordered(rows, *order)

    def _siblings(self, session: Row) -> list[Row]:
        """The parent's row and the children's rows."""
        found: list[Row] = []
        parent = session.get("parent_id")
        if parent is not None and parent != session["id"] and (row := self._session(parent)) is not None:
            found.append(row)
        for name in self.schema.session_tables:
            if session["id"] is not None and self.schema.has(name, "parent_id"):
                found += self._rows(self.schema.tables[name], "parent_id", session["id"])
        return list({row["id"]: row for row in found if row["id"] != session["id"]}.values())

    def all_projects(self) -> list[Row]:
        """The rows of all projects."""
        if self._projects is not None:
            return self._projects
        table = self.schema.tables.get("project")
        return (
            [] if table is None else [dict(zip(table.columns, row, strict=True)) for row in self.query(table.select())]
        )

    def _rows(self, table: Table, column: str, value: Any) -> list[Row]:
        """Rows with this value in this column; where the file is damaged, those that can still be read."""
        # IS: an id may be NULL in a damaged or hostile file, or text that is not UTF-8.
        condition, values = where({column: value})
        take = partial(collected, table.columns)
        try:
            return self._taken(f"{table.select()} WHERE {condition}", values, take)
        except sqlite3.DatabaseError as error:
            if (error.sqlite_errorcode & 0xFF) not in (
                sqlite3.SQLITE_CORRUPT,
                sqlite3.SQLITE_TOOBIG,
                sqlite3.SQLITE_IOERR,
            ):
                raise explained(error, self.path) from error
            return take(self._one_by_one(table, column, value, error))

    def _one_by_one(self, table: Table, column: str, value: Any, first: sqlite3.Error) -> list[tuple[Any, ...]]:
        """The rows a damaged page leaves over, found through the index; the others become problems."""
        if column == "rowid" or not table.has_rowid:
            raise explained(first, self.path) from first
        found: list[tuple[Any, ...]] = []
        condition, values = where({column: value})
        for (rowid,) in self.query(f"SELECT rowid FROM {quoted(table.name)} WHERE {condition}", values):
            try:
                found += self._fetch(f"{table.select()} WHERE rowid = ?", (rowid,))
            except sqlite3.DatabaseError as error:
                self.problems.append(Problem(f"{table.name} row {rowid}", str(error), "sqlite-corrupt", str(value)))
        return found

    def _found_dialects(self) -> tuple[DialectName, ...]:
        found: list[DialectName] = []
        if self._any("message"):
            found.append(V1)
        if self._any("session_message"):
            found.append(V2)
        return tuple(found) or ((V1,) if self.schema.has("message") else (V2,))

    def _any(self, name: str) -> bool:
        return self.schema.has(name) and bool(self.query(f"SELECT 1 FROM {quoted(name)} LIMIT 1"))

    def _collect(self, states: dict[Any, list[object]], sql: str, bound: Sequence[Any]) -> None:
        for session_id, *values in self.query(sql, bound):
            if session_id in states:
                states[session_id].append(tuple(values))


def _rank(value: Any) -> tuple[int, Any]:
    """SQLite's order of values: NULL, numbers, text, blobs."""
    if value is None:
        return (0, 0)
    if isinstance(value, (int, float)):
        return (1, value)
    return (2, value) if isinstance(value, str) else (3, value)


def _ordered(rows: list[Row], *columns: str) -> list[Row]:
    try:
        # Where a column holds values of one type, as nearly always, Python orders them as SQLite does.
        return sorted(rows, key=itemgetter(*columns))
    except (TypeError, KeyError):
        return sorted(rows, key=lambda row: tuple(_rank(row.get(column)) for column in columns))
