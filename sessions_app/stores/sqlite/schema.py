"""What a database can hold, found by looking (docs/contract/formats.md#a3): never by version, since user_version is
always 0."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from .connection import quoted

_LEVELS = (
    ("session_v2", "", "2.x"),
    ("session_message", "seq", "1.18.11"),
    ("session", "cost", "1.15.4"),
    ("event", "", "1.14.34"),
    ("workspace", "", "1.2.27"),
    ("session", "", "1.2.1"),
)
"""(table, column, oldest version that has it), newest first."""

_NEEDED = {
    "session": ("id",),
    "session_v2": ("id",),
    "message": ("id", "session_id", "data"),
    "part": ("id", "message_id", "session_id", "data"),
    "session_message": ("id", "session_id", "type", "data"),
}
"""Columns that every version of the client stores; without one of them, rows say something else than they mean."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|--[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Table:
    """A real table: its stored columns in table order (no generated ones), declared types, defaults and primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    defaults: dict[str, str | None]
    has_rowid: bool = True
    generated: tuple[str, ...] = ()
    """Columns that SQLite computes; they hold nothing of their own."""

    def select(self) -> str:
        return f"SELECT {', '.join(quoted(column) for column in self.columns)} FROM {quoted(self.name)}"


@dataclass(frozen=True, slots=True)
class Schema:
    """``tables`` holds real tables only; ``passed_over`` names views and virtual tables, which are never read."""

    tables: dict[str, Table]
    passed_over: tuple[str, ...] = ()
    triggers: tuple[tuple[str, str], ...] = ()
    """(name, table it fires on)."""

    def has(self, table: str, column: str = "") -> bool:
        found = self.tables.get(table)
        return found is not None and (not column or column in found.columns)

    @property
    def session_tables(self) -> tuple[str, ...]:
        """2.x renames ``session`` to ``session_v2`` (docs/contract/rules.md#0.1); where both are there, the newer one
        speaks first."""
        return tuple(name for name in ("session_v2", "session") if self.has(name, "id"))

    def real(self, table: str) -> Table | None:
        """The table behind a name of the interchange ("session" may be ``session_v2``)."""
        if table == "session":
            return self.tables[self.session_tables[0]] if self.session_tables else None
        return self.tables.get(table)

    @property
    def is_opencode(self) -> bool:
        """Sessions and at least one kind of message live here."""
        return bool(self.session_tables) and (
            self.has("message", "session_id") or self.has("session_message", "session_id")
        )

    @property
    def faults(self) -> list[str]:
        """In words, which columns the client stores and these tables do not."""
        found = []
        for name, needed in _NEEDED.items():
            table = self.tables.get(name)
            if table is None:
                continue
            for column in needed:
                if column in table.generated:
                    found.append(f"column {column} of table {name} is generated, not stored")
                elif column not in table.columns:
                    found.append(f"table {name} has no column {column}")
        return found

    @property
    def level(self) -> str:
        """The oldest client version whose tables these are."""
        return next((version for table, column, version in _LEVELS if self.has(table, column)), "")


def probe(connection: sqlite3.Connection) -> Schema:
    """Read the schema; definitions are looked at, never run."""
    tables: dict[str, Table] = {}
    passed_over: list[str] = []
    triggers: list[tuple[str, str]] = []
    for kind, name, on, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"):
        if kind == "trigger":
            triggers.append((str(name), str(on)))
        elif kind == "view":
            passed_over.append(str(name))
        elif kind == "table" and isinstance(sql, str):
            if _is_virtual(sql):
                passed_over.append(str(name))
            else:
                tables[str(name)] = _table(connection, str(name))
    return Schema(tables, tuple(passed_over), tuple(triggers))


def _is_virtual(sql: str) -> bool:
    words = _COMMENT.sub(" ", sql).split(None, 2)  # a hostile file can hold a definition that SQLite never wrote
    return [word.upper() for word in words[:2]] == ["CREATE", "VIRTUAL"]


def _table(connection: sqlite3.Connection, name: str) -> Table:
    rows: Sequence[tuple[int, str, str, int, str | None, int]]
    rows = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    return Table(
        name,
        tuple(row[1] for row in rows),
        tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]),
        {row[1]: row[4] for row in rows},
        _has_rowid(connection, name),
        tuple(row[1] for row in connection.execute(f"PRAGMA table_xinfo({quoted(name)})") if row[6] in (2, 3)),
    )


def _has_rowid(connection: sqlite3.Connection, name: str) -> bool:
    try:
        connection.execute(f"SELECT rowid FROM {quoted(name)} LIMIT 0")
    except sqlite3.Error as error:  # damage is met, and told, where rows are read
        return "no such column" not in str(error)
    return True
