"""The guarded write to a database in place (docs/contract/design.md#5.1, #5.2; docs/contract/formats.md#a7;
docs/contract/rules.md#0.3).

One IMMEDIATE transaction, well under a second: every row is compared with its ``before``, written, read back and
counted; any surprise rolls all of it back. The journal mode stays, nothing is vacuumed, ``event`` rows are never
touched.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores.changes import (
    WRITABLE_TABLES,
    Difference,
    GuardRefused,
    RowName,
    after_key,
    differences,
    name_of,
    row_id,
    same_row,
)
from sessions_app.stores.ground import Hook, StoreError

from .connection import escaping_text, explained, open_writer, quoted, time_limit
from .schema import Schema, Table, probe

LOCK_SECONDS = 0.8
"""The longest that other writers may wait for one repair: a lock of five seconds loses the client's prompt
(docs/contract/formats.md#a7)."""

_OPTIMISTIC_CHECKS = 3

_PARENTS = ("project", "session", "message")
"""Tables whose rows others point to: taking one out cascades."""


type Read = Callable[[str], SessionRows]
"""Reads a session as the file holds it now, by its id. Raises ``StoreError``."""


def write(
    path: Path, net: Sequence[RowChange], expect: Mapping[str, str], at: Hook, *, read: Read, restoring: bool
) -> float:
    """Write folded changes to the database at ``path``; returns the seconds the write lock was held.

    ``restoring``: an earlier write is taken back, so rows may again belong nowhere, as they did before it. Raises
    ``GuardRefused`` or ``StoreError``; nothing is written then.
    """
    connection = open_writer(path)
    try:
        connection.text_factory = escaping_text
        writer = _Writer(connection, probe(connection))
        changes = writer.prepared(net)
        if restoring and not any(change.after is None and change.table in _PARENTS for change in net):
            # Nothing here could cascade, and what is put back may never have fitted (docs/contract/rules.md#2.29).
            connection.execute("PRAGMA foreign_keys = OFF")
        _begin(read, connection, expect)
        started = time.monotonic()
        at("begun")
        try:
            with time_limit(connection, LOCK_SECONDS):
                writer.run(changes, at)
            at("written")
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        return time.monotonic() - started
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        connection.close()


def _begin(read: Read, connection: sqlite3.Connection, expect: Mapping[str, str]) -> None:
    """Take the write lock while the sessions still have the hashes of the plan.

    Hashing a long session takes longer than the lock may be held, so it is done before; SQLite's ``data_version`` then
    tells whether anybody wrote in between. Where somebody keeps writing, it is done under the lock in the end.
    """
    for _ in range(_OPTIMISTIC_CHECKS if expect else 0):
        seen = _data_version(connection)
        _check_hashes(read, expect)
        connection.execute("BEGIN IMMEDIATE")
        if _data_version(connection) == seen:
            return
        connection.rollback()
    connection.execute("BEGIN IMMEDIATE")
    try:
        _check_hashes(read, expect)
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
        self.in_the_way: list[RowChange] = []

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
        taken = {name_of(change.table, after_key(change)) for change in net if _moves(change)}
        self.in_the_way = [
            change for change in net if change.before is not None and name_of(change.table, change.key) in taken
        ]
        return sorted(net, key=_order)

    def run(self, changes: Sequence[RowChange], at: Hook) -> None:
        connection = self.connection
        connection.execute("PRAGMA defer_foreign_keys = ON")
        found = [d for change in changes for d in differences(change, self._current(change.table, change.key))]
        if found:
            raise GuardRefused(found)
        start = connection.total_changes
        parked = self._park()
        for number, change in enumerate(changes):
            self._one(change, parked.get(name_of(change.table, change.key), change.key))
            at(f"row {number}")
        self._verify(changes, connection.total_changes - start - len(parked))

    def _park(self) -> dict[RowName, Row]:
        """Rows whose id goes to another row (a becomes b, b becomes c or goes away) step aside first, under names that
        no client makes."""
        parked: dict[RowName, Row] = {}
        for change in self.in_the_way:
            aside = {column: f"suture-aside-{len(parked)}-{value}" for column, value in change.key.items()}
            self._update(self._table(change.table), change.key, aside)
            parked[name_of(change.table, change.key)] = aside
        return parked

    def _one(self, change: RowChange, key: Row) -> None:
        table = self._table(change.table)
        if change.before is None:
            assert change.after is not None
            names, values = (
                ", ".join(quoted(column) for column in change.after),
                [_bound(value) for value in change.after.values()],
            )
            marks = ", ".join(mark for mark, _ in values)
            self.connection.execute(
                f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({marks})", [value for _, value in values]
            )
        elif change.after is None:
            where, values = _where(key)
            self.connection.execute(f"DELETE FROM {quoted(table.name)} WHERE {where}", [value for _, value in values])
        else:
            news = {
                column: value
                for column, value in change.after.items()
                if column in key or not same_row({"": value}, {"": change.before[column]})
            }
            self._update(table, key, news)

    def _update(self, table: Table, key: Row, news: Row) -> None:
        """Only the columns that differ, so that no other byte of the row changes."""
        bound = [(column, *_bound(value)) for column, value in news.items()]
        where, keys = _where(key)
        self.connection.execute(
            f"UPDATE {quoted(table.name)} SET {', '.join(f'{quoted(column)} = {mark}' for column, mark, _ in bound)}"
            f" WHERE {where}",
            [*(value for _, _, value in bound), *(value for _, value in keys)],
        )

    def _verify(self, changes: Sequence[RowChange], written: int) -> None:
        """Every row reads back as planned, and nothing else changed: a cascade would take rows with no restore
        point."""
        if written != len(changes):
            raise GuardRefused(
                [Difference("message", "", "", f"{written} rows would change where {len(changes)} were planned")]
            )
        for change in changes:
            if change.after is not None and not same_row(self._current(change.table, after_key(change)), change.after):
                raise GuardRefused(
                    [Difference(change.table, row_id(change), "", "the row cannot be stored as planned")]
                )

    def _current(self, table: str, key: Mapping[str, Any]) -> Row | None:
        real = self._table(table)
        where, values = _where(key)
        found = self.connection.execute(f"{real.select()} WHERE {where}", [value for _, value in values]).fetchone()
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
        return (0, -depth) if change.table in ("part", "session_message") else (2, -depth)
    if change.before is None:
        return (3, depth)
    return (1, depth)


def _bound(value: Any) -> tuple[str, Any]:
    """(SQL, value) that stores text which is not UTF-8 as the bytes it was read from."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            try:
                return "CAST(? AS TEXT)", value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                raise GuardRefused([Difference("", "", "", "text with a lone surrogate cannot be stored")]) from None
    return "?", value


def _where(key: Mapping[str, Any]) -> tuple[str, list[tuple[str, Any]]]:
    bound = [(column, *_bound(value)) for column, value in key.items()]
    return " AND ".join(f"{quoted(column)} IS {mark}" for column, mark, _ in bound), [
        (mark, value) for _, mark, value in bound
    ]
