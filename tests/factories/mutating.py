"""Databases damaged at random, the same way every time: rows, values, ids, columns, as other programs leave them."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

ROWS = ("message", "part", "session", "session_message")

type _Random = random.Random


def mutated(source: Path, dest: Path, seed: int, *, steps: int = 3) -> list[str]:
    """A copy of a database with some of the kinds of damage below; gives what was done, in words. What SQLite refuses
    (a key that must be unique) is passed over."""
    shutil.copy(source, dest)
    dest.chmod(0o644)
    dice = random.Random(f"{source.name} {seed}")
    connection = sqlite3.connect(dest, isolation_level=None)
    done = []
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for _ in range(steps):
            table = dice.choice([name for name in ROWS if name in tables])
            mutate = dice.choice(KINDS)
            try:
                mutate(connection, dice, table)
            except sqlite3.Error as error:
                done.append(f"{mutate.__name__} {table}: {error}")
            else:
                done.append(f"{mutate.__name__} {table}")
    finally:
        connection.close()
    return done


def _some(connection: sqlite3.Connection, dice: _Random, table: str) -> int:
    """The rowid of some row."""
    rows = [rowid for (rowid,) in connection.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
    return dice.choice(rows) if rows else -1


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def deleted_row(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (_some(connection, dice, table),))


def deleted_messages(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    """Parts stay behind."""
    connection.execute("DELETE FROM message WHERE rowid % ? = 0", (dice.randint(2, 4),))


def doubled_row(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    rowid = _some(connection, dice, table)
    columns = ", ".join(f'"{name}"' for name in _columns(connection, table) if name != "id")
    connection.execute(
        f"INSERT INTO {table} (id, {columns}) SELECT id || 'x', {columns} FROM {table} WHERE rowid = ?", (rowid,)
    )


def odd_value(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    column = dice.choice(_columns(connection, table))
    value = dice.choice(
        (None, "", 0, -1, 2**53, 1.5, b"\xff\x00", "\ud800".encode("utf-8", "surrogatepass"), "x" * 300)
    )
    connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (value, _some(connection, dice, table)))


def cut_data(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    connection.execute(
        f"UPDATE {table} SET data = substr(data, 1, length(data) * ? / 10) WHERE rowid = ?",
        (dice.randint(1, 9), _some(connection, dice, table)),
    )


def other_word(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    old, new = dice.choice(
        (
            ('"completed"', '"running"'),
            ('"completed"', '"pending"'),
            ('"assistant"', '"user"'),
            ('"text"', '"tool"'),
            ('"tool"', '"text"'),
            ('"callID"', '"callId"'),
            ('"type"', '"kind"'),
            ('"role"', '"rolle"'),
            ('"input":{', '"input":"{'),
            ('"finish":"stop"', '"finish":null'),
            ('"time":{', '"time":[{'),
        )
    )
    rows = connection.execute(f"SELECT rowid FROM {table} WHERE instr(data, ?) ORDER BY rowid", (old,)).fetchall()
    some = dice.sample(rows, min(len(rows), dice.randint(1, 3)))
    connection.executemany(
        f"UPDATE {table} SET data = replace(data, ?, ?) WHERE rowid = ?", [(old, new, *r) for r in some]
    )


def elsewhere(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    """A row that names a message, session or project that is not there."""
    names = [name for name in _columns(connection, table) if name.endswith("_id")]
    connection.execute(
        f"UPDATE {table} SET {dice.choice(names)} = ? WHERE rowid = ?",
        (dice.choice(("msg_none", "ses_none", "")), _some(connection, dice, table)),
    )


def swapped_data(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    one, two = _some(connection, dice, table), _some(connection, dice, table)
    connection.execute(
        f"UPDATE {table} SET data = (SELECT data FROM {table} WHERE rowid = ?) WHERE rowid = ?", (one, two)
    )


def other_time(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    connection.execute(
        f"UPDATE {table} SET time_created = time_created + ? WHERE rowid = ?",
        (dice.choice((-(10**10), -1, 1, 10**10)), _some(connection, dice, table)),
    )


def more_columns(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    connection.execute(f"ALTER TABLE {table} ADD COLUMN later TEXT {dice.choice(('', 'NOT NULL DEFAULT 5'))}")


def generated_column(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    connection.execute(f"ALTER TABLE {table} ADD COLUMN kind TEXT GENERATED ALWAYS AS (substr(id, 1, 3)) VIRTUAL")


def strict_index(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    column = dice.choice(_columns(connection, table))
    connection.execute(f'CREATE UNIQUE INDEX tight_{table} ON {table} (id, "{column}")')


def missing_column(connection: sqlite3.Connection, dice: _Random, table: str) -> None:
    connection.execute(f"ALTER TABLE {table} DROP COLUMN {dice.choice(_columns(connection, table))}")


KINDS: tuple[Callable[[sqlite3.Connection, _Random, str], None], ...] = (
    deleted_row,
    deleted_messages,
    doubled_row,
    odd_value,
    odd_value,
    cut_data,
    other_word,
    other_word,
    elsewhere,
    swapped_data,
    other_time,
    more_columns,
    generated_column,
    strict_index,
    missing_column,
)
