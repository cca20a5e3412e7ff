"""The real ``sqlite3`` program, as a customer runs it."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("sqlite3")


def run(database: Path, script: str | bytes) -> subprocess.CompletedProcess[bytes]:
    """``sqlite3 DATABASE < SCRIPT``."""
    assert PROGRAM is not None
    text = script.encode("utf-8") if isinstance(script, str) else script
    return subprocess.run([PROGRAM, str(database)], input=text, capture_output=True, timeout=60, check=False)


def rows(database: Path, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables, byte for byte, with the kind of each value."""
    found = {}
    with closing(sqlite3.connect(database)) as connection:
        connection.text_factory = bytes
        for table in tables or ("session", "message", "part", "project", "event", "session_message"):
            columns = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
            both = ", ".join(f'"{column}", typeof("{column}")' for column in columns)
            found[table] = connection.execute(f"SELECT {both} FROM {table} ORDER BY 1").fetchall()
    return found


def change(database: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(sql, values)
