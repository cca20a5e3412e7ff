"""Databases with one session each, as the real V2 server left them or as somebody then broke them
(docs/contract/v2-server.md#otherwise)."""

from __future__ import annotations

import json
import lzma
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from tests.paths import CORPUS, REPORTS

type Tables = dict[str, list[dict[str, Any]]]


@cache
def stores() -> dict[str, Tables]:
    """name -> table -> rows. Events hold no data, and the server's own context is left out."""
    text = lzma.decompress((REPORTS / "v2-stores.jsonl.xz").read_bytes()).decode()
    return {one["name"]: one["tables"] for one in map(json.loads, text.splitlines())}


def recorded(document: dict[str, Any]) -> Tables:
    """The tables of a row document, with an event for every number that its session has given."""
    kept = {table: rows for table, rows in document.items() if table != "messages" and isinstance(rows, list)}
    session = {**document["session"], "slug": "s", "title": "recorded"}
    numbers = [row["seq"] for row in document.get("event_sequence", [])]
    events = [
        {"id": f"evt_{session['id'][-8:]}_{seq}", "aggregate_id": session["id"], "seq": seq, "type": "x", "data": "{}"}
        for number in numbers
        for seq in range(number + 1)
    ]
    project = {"id": session["project_id"], "worktree": session["directory"], "sandboxes": "[]"}
    times = {"time_created": session["time_created"], "time_updated": session["time_updated"]}
    return {"project": [{**project, **times}], "session": [session], "event": events, **kept}


def written(path: Path, *tables: Tables) -> Path:
    """A database of 1.18.33 that holds them."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript((CORPUS / "schema" / "1.18.33.sql").read_text())
        for one in tables:
            for table, rows in one.items():
                for row in rows:
                    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
                    connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", [*row.values()])
    return path


def everything(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, as SQLite quotes its values."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {}
        for table in sorted(tables):
            columns = [f'quote("{row[1]}")' for row in connection.execute(f'PRAGMA table_info("{table}")')]
            found[table] = sorted(connection.execute(f'SELECT {", ".join(columns)} FROM "{table}"'))
        return found
