"""A repair as an SQL script for ``sqlite3 opencode.db < patch.sql`` (docs/handing-back.md#patch).

One transaction. Every row is first compared with what the repair was planned for, and every session with the number and
size of the rows that it had; what differs breaks a named constraint, whose name is the message, and the whole script is
rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from sessions_app.domain.handback.extent import Extent
from sessions_app.domain.model import Row
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.stores.sqlite.store import SqliteStore

_PLAIN = re.compile("[^\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]*")
"""Text that is written as it is: no control characters, and no line ends that a mailer or an editor may change."""


def patch_sql(
    changes: Sequence[RowChange],
    *,
    made_for: str,
    table_name: Callable[[str], str] = str,
    extents: Sequence[Extent] = (),
    says: str = "",
) -> str:
    """The script. ``made_for`` names the file in its first line; ``table_name`` gives the real name of a table of the
    interchange; ``says`` is what is known of its result."""
    lines = [
        (
            f"-- Suture: {len(changes)} row changes for {_comment(made_for)}. Close the client, keep a copy of the"
            " file, then run"
        ),
        "--   sqlite3 FILE < THIS",
        "-- If any row is not what the repair was planned for, nothing is written.",
        *([f"-- {_comment(says)}"] if says else []),
        ".bail on",
        ".timeout 5000",
        "PRAGMA foreign_keys = OFF;",
        "BEGIN IMMEDIATE;",
    ]
    for extent_ in extents:
        lines += _session_guard(extent_, table_name)
    for change in changes:
        lines += _row_guard(change, table_name(change.table))
    lines += _writes(changes, table_name)
    for change in changes:
        if change.table == "message" and change.after is None:
            lines += _parts_guard(change, table_name("part"))
    lines += [
        "COMMIT;",
        f".print Suture: {len(changes)} rows changed.",
        "",
    ]
    return "\n".join(lines)


def store_patches(
    store: SqliteStore,
    changes: Sequence[RowChange],
    *,
    made_for: str,
    extents: Sequence[tuple[Extent, Extent]],
    says: str = "",
) -> tuple[str, str]:
    """The script for a store, and the one that takes it back. ``extents``: of each changed session before and after;
    ``says``: what is known of the result, in both."""

    def real(table: str) -> str:
        found = store.schema.real(table)
        return table if found is None else found.name

    before, after = [one for one, _ in extents], [one for _, one in extents]
    return (
        patch_sql(changes, made_for=made_for, table_name=real, extents=before, says=says),
        undo_sql(changes, made_for=made_for, table_name=real, extents=after, says=says),
    )


def undo_sql(
    changes: Sequence[RowChange],
    *,
    made_for: str,
    table_name: Callable[[str], str] = str,
    extents: Sequence[Extent] = (),
    says: str = "",
) -> str:
    """The script that takes ``patch_sql`` of the same changes back, under the same guard. ``extents``: after the
    patch."""
    back = inverted(tuple(changes))
    return patch_sql(back, made_for=made_for, table_name=table_name, extents=extents, says=says)


def _row_guard(change: RowChange, table: str) -> Iterator[str]:
    key = _key(change)
    if change.before is None:
        words, count, where = f"{change.table} {key} exists already; nothing was written", 0, change.key
    else:
        words, count, where = (
            f"{change.table} {key} changed since this patch was made; nothing was written",
            1,
            change.before,
        )
    yield from _guard(words, str(count), f"SELECT count(*) FROM main.{_name(table)} WHERE {_matches(where)}")


def _session_guard(held: Extent, table_name: Callable[[str], str]) -> Iterator[str]:
    words = f"session {held.session_id} went on since this patch was made; nothing was written"
    for table, count, size in held.tables:
        yield from _guard(
            words,
            str(count * 10**12 + size),
            "SELECT count(*) * 1000000000000 + coalesce(sum(length(CAST(data AS BLOB))), 0) FROM"
            f" main.{_name(table_name(table))} WHERE session_id = {_value(held.session_id)}",
        )


def _parts_guard(change: RowChange, table: str) -> Iterator[str]:
    words = f"message {_key(change)} has parts that this patch does not know; nothing was written"
    query = f"SELECT count(*) FROM main.{_name(table)} WHERE message_id IS {_value(change.key['id'])}"
    yield from _guard(words, "0", query)


def _guard(words: str, wanted: str, query: str) -> Iterator[str]:
    """A table with a constraint that fails, in words, where a count is not as wanted; gone at once, so that thousands
    stay quick."""
    yield f"CREATE TEMP TABLE suture_guard (found INTEGER CONSTRAINT {_name(words)} CHECK (found = {wanted}));"
    yield f"INSERT INTO temp.suture_guard {query};"
    yield "DROP TABLE temp.suture_guard;"


def _writes(changes: Sequence[RowChange], table_name: Callable[[str], str]) -> Iterator[str]:
    """Rows that go make room first; rows that get another id step aside before any of them takes its new one."""
    for change in changes:
        if change.after is None:
            yield f"DELETE FROM main.{_name(table_name(change.table))} WHERE {_matches(change.key)};"
    moved = [change for change in changes if change.before is not None and change.after is not None and _moves(change)]
    aside = {id(change): dict.fromkeys(change.key, f"suture-aside-{number}") for number, change in enumerate(moved)}
    for change in moved:
        yield _update(change, table_name, change.key, aside[id(change)])
    for change in changes:
        if change.after is not None and change.before is not None:
            altered = {
                column: value for column, value in change.after.items() if not _same(change.before.get(column), value)
            }
            if altered:
                yield _update(change, table_name, aside.get(id(change), change.key), altered)
        elif change.after is not None:
            columns = ", ".join(_name(column) for column in change.after)
            values = ", ".join(_value(value) for value in change.after.values())
            yield f"INSERT INTO main.{_name(table_name(change.table))} ({columns}) VALUES ({values});"


def _moves(change: RowChange) -> bool:
    assert change.after is not None
    return any(change.after.get(column) != value for column, value in change.key.items())


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _update(change: RowChange, table_name: Callable[[str], str], key: Row, values: Row) -> str:
    assignments = ", ".join(f"{_name(column)} = {_value(value)}" for column, value in values.items())
    return f"UPDATE main.{_name(table_name(change.table))} SET {assignments} WHERE {_matches(key)};"


def _key(change: RowChange) -> str:
    return ",".join(str(value) for value in change.key.values())


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
        return {"inf": "9e999", "-inf": "-9e999"}.get(repr(value)) or _real(value)
    if isinstance(value, int):
        return str(int(value))
    text = str(value)
    if _PLAIN.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    return f"CAST(X'{text.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"


def _real(value: float) -> str:
    """A number that the program reads as just this one: of decimals with many digits or large exponents, older ones
    (3.40) read the neighbour. Whole numbers, and products with powers of two, are exact."""
    if value.is_integer() and abs(value) < 2**53:
        return repr(value)
    numerator, denominator = value.as_integer_ratio()
    twos = (numerator & -numerator).bit_length() - denominator.bit_length()
    odd, steps = numerator // (numerator & -numerator), abs(twos)
    powers = [min(_EXACT, steps - done) for done in range(0, steps, _EXACT)]
    factors = "".join(f" {'/' if twos < 0 else '*'} CAST({2**power} AS REAL)" for power in powers)
    return f"(CAST({odd} AS REAL){factors})"


_EXACT = 50
"""A power of two so high is read exactly."""
