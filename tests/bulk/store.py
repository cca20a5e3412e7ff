"""Stores of many sessions, multiplied from the corpus."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.paths import CORPUS

TABLES = {"session": "id", "message": "id", "part": "id"}
PARENT = re.compile(r'(?<="parentID":")msg_\w+')
REFERENCES = ("id", "session_id", "message_id", "parent_id")


def many(path: Path, copies: dict[str, int]) -> Path:
    """A database with so many copies of each corpus session, every id with the copy's number at its end."""
    first = next(iter(copies))
    shutil.copyfile(CORPUS / f"{first}.db", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for table in (*TABLES, "event", "event_sequence"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("BEGIN")
        for name, count in copies.items():
            with closing(sqlite3.connect(CORPUS / f"{name}.db")) as origin:
                origin.row_factory = sqlite3.Row
                for number in range(count):
                    for table in ("project", *TABLES):
                        for row in origin.execute(f"SELECT * FROM {table}"):
                            _insert(connection, table, dict(row), f"{number:04d}")
        # One directory, one project: two would be a fault of their own.
        connection.execute("DELETE FROM project WHERE rowid > (SELECT min(rowid) FROM project)")
        connection.execute("UPDATE session SET project_id = (SELECT id FROM project)")
        connection.execute("COMMIT")
    return path


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, object], mark: str) -> None:
    if table != "project":
        for column in REFERENCES:
            if row.get(column):
                row[column] = f"{row[column]}{mark}"
        if "data" in row:
            row["data"] = PARENT.sub(rf"\g<0>{mark}", str(row["data"]))
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" for _ in row)
    connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def dump(path: Path) -> list[tuple[object, ...]]:
    """Every row that a repair could touch."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            (table, *row)
            for table in TABLES
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        ]
