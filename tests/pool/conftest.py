from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sessions_app import pool
from tests.factories.bigstore import make_store


@pytest.fixture
def several(tmp_path, monkeypatch) -> Path:
    """Sessions of each health, each of which is a chunk."""
    monkeypatch.setattr(pool, "CHUNK", 1)
    path = tmp_path / "opencode.db"
    ids = make_store(path, sessions=6)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "UPDATE part SET data = json_set(data, '$.callID', 'call_same') WHERE session_id = ?"
            " AND json_extract(data, '$.type') = 'tool'",
            (ids[1],),
        )
        connection.execute(
            "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)"
            " SELECT id || 'x', message_id, session_id, time_created, time_updated, data FROM part"
            " WHERE session_id = ? AND json_extract(data, '$.type') = 'tool'",
            (ids[5],),
        )
        connection.execute("UPDATE part SET data = '{' WHERE session_id = ? AND rowid % 3 = 0", (ids[2],))
        connection.execute("UPDATE session SET title = char(10, 27) || title WHERE id = ?", (ids[3],))
        connection.execute("UPDATE message SET data = '[]' WHERE session_id = ?", (ids[4],))
    connection.close()
    return path
