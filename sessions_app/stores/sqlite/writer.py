"""The guarded write to a database in place (docs/contract/design.md#5.1, #5.2; docs/contract/formats.md#a7;
docs/contract/rules.md#0.3).

One IMMEDIATE transaction, well under a second: every row is compared with its ``before``, written, read back and
counted, and taken back once in a savepoint, which proves that undo will work; any surprise rolls all of it back. The
journal mode stays, nothing is vacuumed, the client's ``event`` rows are never touched.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores.changes import (
    WRITABLE_TABLES,
    Difference,
    GuardRefused,
    RowName,
    after_key,
    guarded,
    name_of,
    netted,
    row_id,
    same,
    same_row,
)
from sessions_app.stores.ground import Hook, StoreError, no_hook
from sessions_app.stores.holders import database_files, holders

from .binding import bound, where
from .connection import FileIdentity, escaping_text, explained, identity, open_writer, quoted, time_limit
from .kinship import Kinship
from .schema import Schema, Table, probe

LOCK_SECONDS = 0.8
"""The longest that other writers may wait for one repair: a lock of five seconds loses the client's prompt
(docs/contract/formats.md#a7)."""
ALONE_SECONDS = 3.0
"""The same where no other process has the database open: a client that starts just then waits five seconds."""

_OPTIMISTIC_CHECKS = 3

_FETCHED = 200
"""Rows read by one statement."""

type Read = Callable[[str], SessionRows]
"""Reads a session as the file holds it now, by its id. Raises ``StoreError``."""


def write(
    path: Path,
    net: Sequence[RowChange],
    expect: Mapping[str, str],
    at: Hook,
    *,
    read: Read,
    opened: FileIdentity,
    restoring: bool,
) -> float:
    """Write folded changes to the database at ``path``; returns the seconds the write lock was held.

    ``opened``: the file that ``read`` reads. ``restoring``: an earlier write is taken back, so rows may again belong
    nowhere, as they did before it. Raises ``GuardRefused`` or ``StoreError``; nothing is written then.
    """
    _check_place(path, opened)
    connection = open_writer(path)
    try:
        connection.text_factory = escaping_text
        writer = _Writer(connection, probe(connection))
        changes = writer.prepared(net)
        back = [] if restoring else writer.prepared(netted(inverted(tuple(net))))

        def check() -> None:
            writer.compare(changes)
            _check_hashes(read, expect)

        seconds = LOCK_SECONDS if holders(database_files(path)) else ALONE_SECONDS
        _begin(check, connection)
        started = time.monotonic()
        try:
            _check_place(path, opened)
            at("begun")
            with time_limit(connection, seconds):
                writer.run(changes, at, restoring=restoring)
                if back:
                    writer.prove(back)
            at("written")
            _check_place(path, opened)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        return time.monotonic() - started
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        connection.close()


def _check_place(path: Path, opened: FileIdentity) -> None:
    """The file that was read is the one that is written: another may have been renamed over it since."""
    if identity(path) != opened:
        words = f"another file was put in the place of {path.name} since it was opened"
        raise GuardRefused([Difference("file", path.name, "", words)])


def _begin(check: Callable[[], None], connection: sqlite3.Connection) -> None:
    """Take the write lock while rows and sessions are still those of the plan, which ``check`` tells.

    Looking at a long session takes longer than the lock may be held, so it is done before; SQLite's ``data_version``
    then tells whether anybody wrote in between. Where somebody keeps writing, it is done under the lock in the end.
    """
    for _ in range(_OPTIMISTIC_CHECKS):
        seen = _data_version(connection)
        check()
        connection.execute("BEGIN IMMEDIATE")
        if _data_version(connection) == seen:
            return
        connection.rollback()
    connection.execute("BEGIN IMMEDIATE")
    try:
        check()
    except BaseException:
        connection.rollback()
        raise


def _data_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _check_hashes(read: Read, expect: Mapping[str, str]) -> None:
    for session_id, wanted in expect.items():
        try:
            found = rows_hash(read(session_id))
        except StoreError as error:
            if error.kind != "no-session":
                raise
            raise GuardRefused([Difference("session", session_id, "", "the session is gone")]) from error
        if found != wanted:
            raise GuardRefused(
                [Difference("session", session_id, "", "the session was changed since the plan was made")]
            )


class _Writer:
    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self.connection = connection
        self.schema = schema
        self.kinship = Kinship(connection, schema)

    def prepared(self, net: Sequence[RowChange]) -> list[RowChange]:
        """The changes in an order that SQLite can run, checked against the schema of the file."""
        for change in net:
            table = self._table(change.table)
            firing = [name for name, on in self.schema.triggers if on == table.name]
            if firing:
                raise StoreError(
                    "schema",
                    table.name,
                    f"The database has a trigger ({firing[0]}) that would run on this write.",
                    "It is not opencode's; remove it first.",
                )
            unknown = set(change.after or ()) - set(table.columns)
            if unknown:
                raise GuardRefused(
                    [Difference(change.table, row_id(change), sorted(unknown)[0], "the table has no such column")]
                )
            missing = set(table.columns) - set(change.after) if change.after is not None else set()
            if missing:
                raise GuardRefused(
                    [Difference(change.table, row_id(change), sorted(missing)[0], "the new row lacks this column")]
                )
        return sorted(net, key=_order)

    def compare(self, changes: Sequence[RowChange]) -> None:
        """Every row is what the plan saw. Raises ``GuardRefused``."""
        guarded(changes, self._stored([(change.table, change.key) for change in changes]))

    def run(self, changes: Sequence[RowChange], at: Hook, *, restoring: bool) -> None:
        """Write prepared changes, whose rows were compared. Raises ``GuardRefused``, ``sqlite3.Error``."""
        connection = self.connection
        start = connection.total_changes
        parked = self._park(changes)
        for number, change in enumerate(changes):
            self._one(change, parked.get(name_of(change.table, change.key), change.key))
            at(f"row {number}")
        self._verify(changes, connection.total_changes - start - len(parked))
        self.kinship.check(changes, restoring=restoring)

    def prove(self, back: Sequence[RowChange]) -> None:
        """Take what was written back and put it here again: a repair that could not be undone is refused."""
        with self._rolled_back():
            try:
                self.run(back, no_hook, restoring=True)
            except GuardRefused as refusal:
                why = "; ".join(str(found) for found in refusal.changed[:3])
                raise _not_undoable(why) from refusal
            except sqlite3.IntegrityError as error:
                raise _not_undoable(f"SQLite: {error}") from error

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        self.connection.execute("SAVEPOINT proof")
        try:
            yield
        finally:
            if self.connection.in_transaction:  # a statement that was interrupted has rolled everything back
                self.connection.execute("ROLLBACK TO proof")
                self.connection.execute("RELEASE proof")

    def _park(self, changes: Sequence[RowChange]) -> dict[RowName, Row]:
        """Rows whose id goes to another row (a becomes b, b becomes c or goes away) step aside first, under names that
        no client makes."""
        taken = {name_of(change.table, after_key(change)) for change in changes if _moves(change)}
        parked: dict[RowName, Row] = {}
        for change in changes:
            name = name_of(change.table, change.key)
            if change.before is None or name not in taken:
                continue
            aside = {column: f"suture-aside-{len(parked)}-{value}" for column, value in change.key.items()}
            self._update(self._table(change.table), change.key, aside)
            parked[name] = aside
        return parked

    def _one(self, change: RowChange, key: Row) -> None:
        table = self._table(change.table)
        if change.before is None:
            assert change.after is not None
            names = ", ".join(quoted(column) for column in change.after)
            news = [bound(value) for value in change.after.values()]
            marks = ", ".join(mark for mark, _ in news)
            self.connection.execute(
                f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({marks})", [value for _, value in news]
            )
        elif change.after is None:
            condition, values = where(key)
            self.connection.execute(f"DELETE FROM {quoted(table.name)} WHERE {condition}", values)
        else:
            new = {
                column: value
                for column, value in change.after.items()
                if column in key or not same(value, change.before[column])
            }
            self._update(table, key, new)

    def _update(self, table: Table, key: Row, new: Row) -> None:
        """Only the columns that differ, so that no other byte of the row changes."""
        marked = [(column, *bound(value)) for column, value in new.items()]
        condition, keys = where(key)
        self.connection.execute(
            f"UPDATE {quoted(table.name)} SET {', '.join(f'{quoted(column)} = {mark}' for column, mark, _ in marked)}"
            f" WHERE {condition}",
            [*(value for _, _, value in marked), *keys],
        )

    def _verify(self, changes: Sequence[RowChange], written: int) -> None:
        """Every row reads back as planned, and nothing else changed."""
        if written != len(changes):
            raise GuardRefused(
                [Difference("message", "", "", f"{written} rows would change where {len(changes)} were planned")]
            )
        kept = [change for change in changes if change.after is not None]
        stored = self._stored([(change.table, after_key(change)) for change in kept])
        for change in kept:
            if not same_row(stored(change.table, after_key(change)), change.after):
                raise GuardRefused(
                    [Difference(change.table, row_id(change), "", "the row cannot be stored as planned")]
                )

    def _stored(self, wanted: Sequence[tuple[str, Row]]) -> Callable[[str, Row], Row | None]:
        """Gives the wanted rows as they are stored now; they are fetched many at a time."""
        ids: dict[tuple[str, str], list[str]] = {}
        for table, key in wanted:
            if len(key) == 1 and isinstance(value := next(iter(key.values())), str) and value.isascii():
                ids.setdefault((table, next(iter(key))), []).append(value)
        found: dict[tuple[str, str], Row] = {}
        for (table, column), values in ids.items():
            real = self._table(table)
            for start in range(0, len(values), _FETCHED):
                some = values[start : start + _FETCHED]
                sql = f"{real.select()} WHERE {quoted(column)} IN ({', '.join('?' * len(some))})"
                for row in self.connection.execute(sql, some):
                    stored = dict(zip(real.columns, row, strict=True))
                    found[table, stored[column]] = stored

        def give(table: str, key: Row) -> Row | None:
            row = found.get((table, next(iter(key.values())))) if len(key) == 1 else None
            return row if row is not None else self._current(table, key)

        return give

    def _current(self, table: str, key: Mapping[str, Any]) -> Row | None:
        real = self._table(table)
        condition, values = where(key)
        found = self.connection.execute(f"{real.select()} WHERE {condition}", values).fetchone()
        return None if found is None else dict(zip(real.columns, found, strict=True))

    def _table(self, name: str) -> Table:
        table = self.schema.real(name)
        if table is None:
            raise GuardRefused([Difference(name, "", "", "the database has no such table")])
        return table


def _moves(change: RowChange) -> bool:
    return change.before is not None and change.after is not None and after_key(change) != change.key


def _order(change: RowChange) -> tuple[int, int]:
    """Children go before their parents, parents come before their children; moved rows are out of a parent before it
    goes."""
    depth = WRITABLE_TABLES.index(change.table)
    if change.after is None:
        return (0, -depth) if change.table in ("part", "session_message", "event") else (2, -depth)
    if change.before is None:
        return (3, depth)
    return (1, depth)


def _not_undoable(why: str) -> GuardRefused:
    return GuardRefused([Difference("session", "", "", f"this repair could not be undone afterwards: {why}")])
