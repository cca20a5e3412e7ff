"""Uploads made to break the reader: each is refused in words or read, and none gets the better of the server."""

from __future__ import annotations

import io
import json
import sqlite3
import time
import zipfile
from pathlib import Path

import pytest

from sessions_app.domain.dialects import decode
from sessions_app.domain.rowdoc import parse_value
from sessions_app.domain.scan import scan
from sessions_app.stores import open_bytes, open_store
from sessions_app.stores.base import StoreError
from sessions_app.stores.intake import take_in
from sessions_app.stores.sqlite.damage import _new_database
from sessions_app.stores.sqlite.schema import probe

SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text);
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, title text,
    time_created integer, time_updated integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text){end};
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text,
    time_created integer, time_updated integer, data text){end};
INSERT INTO session VALUES ('ses_1', 'global', NULL, 'one', 1, 2, NULL);
INSERT INTO message VALUES ('msg_1', 'ses_1', 1, 2, '{{"role":"user"}}');
INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1, 2, '{{"type":"text","text":"hello"}}');
INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_other', 1, 2, '{{"type":"text","text":"stray"}}');
"""


def database(path: Path, more: str = "", end: str = "") -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA.format(end=end) + more)
    connection.commit()
    connection.close()
    return path


def uploaded(path: Path, tmp_path: Path, name: str = "opencode.db"):
    with path.open("rb") as file:
        return take_in(file, tmp_path / "kept", name=name)


def test_tables_without_row_ids_are_read_with_their_stray_parts(tmp_path):
    with open_store(database(tmp_path / "a.db", end=" WITHOUT ROWID")) as store:
        assert [part["id"] for part in store.read("ses_1").parts] == ["prt_1", "prt_2"]
        assert list(store.mark().sessions) == ["ses_1"]


def test_a_comment_that_says_without_rowid_does_not_make_a_table_one(tmp_path):
    path = database(tmp_path / "a.db", end=" /* WITHOUT ROWID */")
    connection = sqlite3.connect(path)
    assert probe(connection).tables["part"].has_rowid
    connection.close()


def test_a_virtual_table_whose_definition_hides_behind_a_comment_is_passed_over(tmp_path):
    path = database(
        tmp_path / "a.db",
        "CREATE VIRTUAL TABLE odd USING fts5(a); PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE/**/VIRTUAL') WHERE name = 'odd';",
    )
    connection = sqlite3.connect(path)
    found = probe(connection)
    connection.close()
    assert "odd" in found.passed_over
    assert "odd" not in found.tables


@pytest.mark.parametrize("session_id", [None, b"\x00\xff", "", "../../x", "a\x00b"])
def test_a_session_with_an_odd_id_is_read_by_that_id(tmp_path, session_id):
    path = database(tmp_path / "a.db")
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO session (id, title, time_updated) VALUES (?, 'odd', 3)", (session_id,))
    connection.commit()
    connection.close()
    with open_store(path) as store:
        assert session_id in store.session_ids()
        rows = store.read(session_id)
    assert rows.session["title"] == "odd"
    assert rows.siblings == []


def test_a_column_with_an_unknown_collation_is_damage_and_no_fault_of_ours(tmp_path):
    path = database(
        tmp_path / "a.db",
        "CREATE INDEX message_session ON message(session_id); PRAGMA writable_schema = ON;UPDATE sqlite_schema SET sql"
        " = replace(sql, 'session_id text', 'session_id text COLLATE nosuch') WHERE name = 'message';",
    )
    with pytest.raises(StoreError):
        uploaded(path, tmp_path)
    assert not (tmp_path / "kept").exists()


def test_a_broken_schema_whose_words_are_no_text_is_damage(tmp_path):
    path = database(tmp_path / "a.db")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE part (id text", b"CREATE TABLE part (id \xe3\x28,,", 1))
    for read in (lambda: open_store(path).close(), lambda: uploaded(path, tmp_path)):
        with pytest.raises(StoreError) as refused:
            read()
        assert refused.value.kind == "corrupt"


def test_a_recovered_definition_cannot_compute(tmp_path):
    """``.recover`` prints what a hostile schema holds; a table made from an endless query would fill the disk."""
    connection = _new_database(tmp_path / "new.db")
    endless = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x"
    for statement in (f"CREATE TABLE bomb AS {endless}", f"INSERT INTO t {endless}"):
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute(statement)
    connection.execute("CREATE TABLE t (a text PRIMARY KEY, b text)")
    connection.execute("INSERT INTO t VALUES ('a', 'b')")
    connection.execute("CREATE INDEX i ON t(b)")
    connection.close()


@pytest.mark.parametrize(
    "text", ['{"info":{"id":"ses_h","title":%s},"messages":[]}', '{"session":{"id":"ses_h","time_created":%s}}']
)
def test_a_number_of_a_hundred_thousand_digits_is_read_as_javascript_reads_it(text):
    data = (text % ("9" * 100_000)).encode()
    with open_bytes(data) as store:
        assert store.session_ids() == ["ses_h"]


def test_words_about_an_archive_do_not_tell_where_the_server_keeps_its_files(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("storage", "a file")
        packed.writestr("storage/session/a.json", json.dumps({}))
    content.seek(0)
    with pytest.raises(StoreError) as refused:
        take_in(content, tmp_path / "kept", name="a.zip")
    assert str(tmp_path) not in refused.value.words


def test_thousands_of_calls_with_one_id_do_not_keep_the_scanner_busy_for_minutes():
    state = {
        "status": "completed",
        "input": {},
        "output": "x",
        "title": "t",
        "metadata": {},
        "time": {"start": 1, "end": 2},
    }
    part = json.dumps({"type": "tool", "callID": "dup", "tool": "bash", "state": state})
    owner = {"message_id": "msg_1", "session_id": "ses_1", "time_created": 1, "time_updated": 1}
    parts = [{"id": f"prt_{index:05}", **owner, "data": part} for index in range(6_000)]
    message = {"id": "msg_1", "session_id": "ses_1", "time_created": 1, "time_updated": 1, "parts": parts}
    data = {"role": "assistant", "modelID": "claude-x", "providerID": "anthropic"}
    rows = parse_value({"session": {"id": "ses_1"}, "messages": [{**message, "data": json.dumps(data)}]})
    decoded = decode(rows)
    start = time.process_time()
    found = scan(decoded).findings
    assert any(one.rule == "duplicate-call-id-in-message" for one in found)
    assert time.process_time() - start < 20  # squared it took minutes
