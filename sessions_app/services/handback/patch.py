"""A repair as an SQL script for ``sqlite3 opencode.db < patch.sql``.

One transaction. Every row is first compared with what the repair was planned for; a row that differs breaks a named constraint, whose name is
the message, and the whole script is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sessions_app.domain.model import Row
from sessions_app.domain.repair import RowChange, inverted


def patch_sql(changes: Sequence[RowChange], *, made_for: str, table_name: Callable[[str], str] = str) -> str:
    """The script. ``made_for`` names the file in its first line; ``table_name`` gives the real name of a table of the interchange."""
    lines = [
        f"-- Suture: {len(changes)} row changes for {_comment(made_for)}. Close the client, keep a copy of the file, then run",
        "--   sqlite3 FILE < THIS",
        "-- If any row is not what the repair was planned for, nothing is written.",
        ".bail on",
        "PRAGMA foreign_keys = OFF;",
        "BEGIN IMMEDIATE;",
    ]
    for number, change in enumerate(changes):
        lines += _guard(number, change, table_name(change.table))
    for change in changes:
        lines.append(_write(change, table_name(change.table)))
    return "\n".join([*lines, "COMMIT;", ""])


def undo_sql(changes: Sequence[RowChange], *, made_for: str, table_name: Callable[[str], str] = str) -> str:
    """The script that takes ``patch_sql`` of the same changes back, under the same guard."""
    return patch_sql(inverted(tuple(changes)), made_for=made_for, table_name=table_name)


def _guard(number: int, change: RowChange, table: str) -> Iterator[str]:
    key = ",".join(str(value) for value in change.key.values())
    if change.before is None:
        words = f"{change.table} {key} exists already; nothing was written"
        count, where = 0, change.key
    else:
        words = f"{change.table} {key} changed since this patch was made; nothing was written"
        count, where = 1, change.before
    guard = f"temp.suture_guard_{number}"
    yield f"CREATE TEMP TABLE suture_guard_{number} (found INTEGER CONSTRAINT {_name(words)} CHECK (found = {count}));"
    yield f"INSERT INTO {guard} SELECT count(*) FROM main.{_name(table)} WHERE {_matches(where)};"


def _write(change: RowChange, table: str) -> str:
    where = _matches(change.key)
    if change.after is None:
        return f"DELETE FROM main.{_name(table)} WHERE {where};"
    if change.before is None:
        columns = ", ".join(_name(column) for column in change.after)
        return f"INSERT INTO main.{_name(table)} ({columns}) VALUES ({', '.join(_value(value) for value in change.after.values())});"
    altered = {column: value for column, value in change.after.items() if change.before.get(column) != value}
    assignments = ", ".join(f"{_name(column)} = {_value(value)}" for column, value in altered.items())
    return f"UPDATE main.{_name(table)} SET {assignments} WHERE {where};"


def _matches(row: Row) -> str:
    return " AND ".join(f"{_name(column)} IS {_value(value)}" for column, value in row.items())


def _name(text: str) -> str:
    return '"' + _comment(text).replace('"', '""') + '"'


def _comment(text: str) -> str:
    """One line without control characters: a stored id must not end a comment or a statement."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, float):
        return {"inf": "9e999", "-inf": "-9e999"}.get(repr(value), repr(value))
    if isinstance(value, int):
        return str(int(value))
    text = str(value)
    if _is_plain(text):
        return "'" + text.replace("'", "''") + "'"
    return f"CAST(X'{text.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"


def _is_plain(text: Iterable[str]) -> bool:
    return all(character >= " " and not "\ud800" <= character <= "\udfff" for character in text)
