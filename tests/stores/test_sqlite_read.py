"""Reading a database: every schema, in use by a client, hostile, or odd."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores import Mark, StoreError, open_store
from sessions_app.stores.sqlite import SqliteStore, counts, facts, orphans, stored_size
from sessions_app.stores.sqlite.connection import explained
from tests.factories.bigstore import make_store
from tests.paths import CORPUS

from .conftest import beside, run

VERSIONS = sorted(path.stem for path in (CORPUS / "schema").glob("*.sql"))

WRITER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE session SET title = 'while running'")
c.execute("COMMIT")
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE session SET title = 'not committed'")
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_schema_version_reads_the_same_rows(tmp_path: Path, version: str) -> None:
    make_store(tmp_path / "new.db", sessions=2)
    make_store(tmp_path / "old.db", sessions=2, version=version)

    with open_store(tmp_path / "new.db") as new, open_store(tmp_path / "old.db") as old:
        for this, that in zip(new.read_all(), old.read_all(), strict=True):
            assert (this.messages, this.parts) == (that.messages, that.parts)
            assert that.session["version"] == version
            assert [project["worktree"] for project in that.projects] == ["/home/dev/proj"]


@pytest.mark.parametrize(
    "version, level",
    [
        ("1.2.1", "1.2.1"),
        ("1.2.27", "1.2.27"),
        ("1.14.34", "1.14.34"),
        ("1.15.4", "1.15.4"),
        ("1.18.33", "1.18.11"),
    ],
)
def test_the_schema_is_told_by_its_tables(tmp_path: Path, version: str, level: str) -> None:
    make_store(tmp_path / "x.db", version=version)

    with SqliteStore(tmp_path / "x.db") as store:
        assert store.schema.level == level


@pytest.mark.parametrize("version", VERSIONS)
def test_no_query_for_one_session_scans_a_table(tmp_path: Path, version: str) -> None:
    make_store(tmp_path / "x.db", version=version)
    with SqliteStore(tmp_path / "x.db") as store:
        asked: list[str] = []
        store.connection.set_trace_callback(asked.append)
        store.read(next(store.sessions())["id"])
        counts(store)
        orphans(store)
        store.connection.set_trace_callback(None)
        queries = [sql for sql in asked if sql.startswith("SELECT")]
        plans = {sql: [row[3] for row in store.connection.execute(f"EXPLAIN QUERY PLAN {sql}")] for sql in queries}

    big = [
        (sql, step)
        for sql, steps in plans.items()
        for step in steps
        for table in ("part", "message", "session_message")
        if step.startswith(f"SCAN {table}") and "USING COVERING INDEX" not in step
    ]
    assert len(queries) > 8
    assert big == []


def test_a_wal_in_use_by_another_process_is_read_as_committed(database: Path) -> None:
    with beside(WRITER, database), open_store(database) as store:
        titles = {row["title"] for row in store.sessions()}

    assert titles == {"while running"}


def test_a_long_read_holds_no_transaction_open(database: Path) -> None:
    with SqliteStore(database) as store:
        for _ in store.sessions():
            assert not store.connection.in_transaction
        for _ in store.read_all():
            assert not store.connection.in_transaction


def test_a_store_cannot_be_written_through_the_reading_connection(database: Path) -> None:
    with SqliteStore(database) as store:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store.connection.execute("DELETE FROM session")
        with pytest.raises(sqlite3.OperationalError):
            store.connection.execute("ATTACH ':memory:' AS other")


def test_text_that_is_not_utf8_and_blobs_are_kept(database: Path) -> None:
    with open_store(database) as store:
        first, second = store.read(next(store.sessions())["id"]).parts[:2]
    run(
        database,
        "UPDATE part SET data = CAST(? AS TEXT) WHERE id = ?",
        b'{"type":"text","text":"\xff\xfe"}',
        first["id"],
    )
    run(database, "UPDATE part SET data = ? WHERE id = ?", b"\x00\x01blob", second["id"])

    with open_store(database) as store:
        rows = store.read(first["session_id"])

    found = {row["id"]: row["data"] for row in rows.parts}
    assert found[first["id"]].encode("utf-8", "surrogateescape") == b'{"type":"text","text":"\xff\xfe"}'
    assert found[second["id"]] == b"\x00\x01blob"


def test_sessions_come_newest_first(database: Path) -> None:
    with open_store(database) as store:
        times = [row["time_updated"] for row in store.sessions()]
        assert times == sorted(times, reverse=True)
        run(database, "UPDATE session SET time_updated = 9999999999999 WHERE time_updated = ?", times[-1])
        assert next(store.sessions())["time_updated"] == 9999999999999


def test_messages_are_ordered_by_time_not_by_id(database: Path) -> None:
    with open_store(database) as store:
        session_id = next(store.sessions())["id"]
        last = store.read(session_id).messages[-1]
        run(database, "UPDATE message SET time_created = 1 WHERE id = ?", last["id"])

        assert store.read(session_id).messages[0]["id"] == last["id"]


def test_a_view_in_place_of_a_table_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_store(path, version="1.2.1")
    connection = sqlite3.connect(path)
    connection.executescript("ALTER TABLE part RENAME TO hidden; CREATE VIEW part AS SELECT * FROM hidden;")
    connection.close()

    with SqliteStore(path) as store:
        assert store.schema.passed_over == ("part",)
        assert all(not rows.parts for rows in store.read_all())


def test_a_virtual_table_in_place_of_the_sessions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE VIRTUAL TABLE session USING fts5(id, title); CREATE TABLE message(id, session_id, data)"
    )
    connection.close()

    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert caught.value.kind == "not-a-store"


def test_generated_columns_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_store(path, version="1.2.1")
    run(path, "ALTER TABLE part ADD COLUMN evil TEXT GENERATED ALWAYS AS (upper(data)) VIRTUAL")

    with open_store(path) as store:
        assert "evil" not in next(store.read_all()).parts[0]


def test_a_renamed_session_table_of_2x_is_the_session_table(database: Path) -> None:
    run(database, "ALTER TABLE session RENAME TO session_v2")

    with SqliteStore(database) as store:
        assert len(list(store.sessions())) == 3
        assert store.schema.level == "2.x"
        assert store.row("session", {"id": next(store.sessions())["id"]}) is not None


def test_v2_rows_without_a_seq_column_come_by_time_and_id(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session_id,) = make_store(path, sessions=1, version="1.14.34")
    for message_id, created in (("msg_b", 2), ("msg_c", 1), ("msg_a", 2)):
        run(
            path,
            "INSERT INTO session_message VALUES (?, ?, 'user', ?, 0, '{}')",
            message_id,
            session_id,
            created,
        )

    with open_store(path) as store:
        assert [row["id"] for row in store.read(session_id).session_message] == ["msg_c", "msg_a", "msg_b"]
        assert store.dialects == ("opencode-v1", "opencode-v2")


def test_the_epoch_and_the_family_of_a_session_come_with_it(database: Path) -> None:
    with open_store(database) as store:
        parent, middle, child = [row["id"] for row in store.sessions()]
    run(database, "UPDATE session SET parent_id = ? WHERE id = ?", parent, middle)
    run(database, "UPDATE session SET parent_id = ? WHERE id = ?", middle, child)
    run(database, "INSERT INTO session_context_epoch VALUES (?, 'base', '{}', 4)", middle)

    with open_store(database) as store:
        rows = store.read(middle)

    assert [row["id"] for row in rows.siblings] == [parent, child]
    assert rows.epoch == {"session_id": middle, "baseline": "base", "snapshot": "{}", "baseline_seq": 4}


def test_parts_that_name_another_session_come_with_their_message_too(database: Path) -> None:
    with open_store(database) as store:
        one, other, _ = [row["id"] for row in store.sessions()]
        part = store.read(one).parts[0]
        run(database, "UPDATE part SET session_id = ? WHERE id = ?", other, part["id"])

        assert part["id"] in {row["id"] for row in store.read(one).parts}
        assert part["id"] in {row["id"] for row in store.read(other).parts}


def test_facts_count_and_orphans_are_named(database: Path) -> None:
    with SqliteStore(database) as store:
        clean = facts(store)
        rows = next(store.read_all())
        run(database, "DELETE FROM message WHERE id = ?", rows.messages[0]["id"])
        run(database, "UPDATE session SET project_id = 'gone' WHERE id = ?", rows.id)
        run(database, "INSERT INTO message VALUES ('msg_lost', 'ses_none', 1, 1, '{}')")

        broken = orphans(store)

        assert (clean.sessions, clean.messages, clean.parts) == (3, 18, 54)
        assert clean.orphans.parts == clean.orphans.messages == ()
        assert broken.parts == tuple(row["id"] for row in rows.parts if row["message_id"] == rows.messages[0]["id"])
        assert broken.messages == ("msg_lost",)
        assert broken.sessions_without_project == (rows.id,)
        assert counts(store)[rows.id] == (5, 18, 0)
        assert stored_size(store, rows.id) > 1000


def test_what_changed_since_a_mark_is_found(database: Path) -> None:
    with SqliteStore(database) as store:
        first, second, third = [row["id"] for row in store.sessions()]
        mark = Mark.from_json(store.mark().to_json())
        assert store.changed_since(mark).changed == ()

        run(
            database,
            "UPDATE part SET time_updated = time_updated + 1 WHERE rowid = (SELECT min(rowid) FROM part WHERE"
            " session_id = ?)",
            second,
        )
        run(database, "PRAGMA foreign_keys = ON")
        run(database, "DELETE FROM session WHERE id = ?", third)
        changes = store.changed_since(mark)

        assert changes.changed == (second,)
        assert changes.deleted == (third,)
        assert store.changed_since(changes.mark).changed == ()
        run(database, "UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = ?", first)
        assert store.changed_since(changes.mark).changed == (first,)


def test_removed_parts_and_new_messages_are_changes(database: Path) -> None:
    with SqliteStore(database) as store:
        first, second, _ = [row["id"] for row in store.sessions()]
        mark = store.mark()
        run(database, "DELETE FROM part WHERE id = ?", store.read(first).parts[2]["id"])
        run(database, "INSERT INTO message VALUES ('msg_new', ?, 1, 1, '{}')", second)

        assert set(store.changed_since(mark).changed) == {first, second}


def test_files_that_nobody_wrote_to_are_not_read_again(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(database) as store:
        later = time.time_ns() + 60 * 10**9  # the files have been left alone for a while
        monkeypatch.setattr("sessions_app.stores.base.time.time_ns", lambda: later)
        mark = store.mark()
        asked: list[str] = []
        store.connection.set_trace_callback(asked.append)

        assert store.changed_since(mark).mark is mark
        assert asked == []


def test_a_session_that_is_not_there_is_said_to_be_missing(database: Path) -> None:
    with open_store(database) as store, pytest.raises(StoreError) as caught:
        store.read("ses_nothing")
    assert caught.value.kind == "no-session"


def test_a_query_that_runs_too_long_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_store(path, sessions=30, turns=10)
    with SqliteStore(path, read_seconds=-1.0) as store, pytest.raises(StoreError) as caught:
        store.query("SELECT count(*) FROM part a, part b, part c")
    assert caught.value.kind == "too-long"


def test_damaged_pages_cost_their_rows_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session_id,) = make_store(path, sessions=1, turns=40, output=3_000)
    damage(path, "part", page=9)

    with open_store(path) as store:
        rows = store.read(session_id)

        assert 100 < len(rows.parts) < 40 * 9
        assert store.problems
        assert {problem.rule for problem in store.problems} == {"sqlite-corrupt"}


def test_reading_the_same_session_twice_gives_the_same_hash(database: Path) -> None:
    with open_store(database) as store:
        session_id = next(store.sessions())["id"]
        assert rows_hash(store.read(session_id)) == rows_hash(store.read(session_id))


def test_sqlites_words_are_kept_in_the_refusal() -> None:
    error = explained(sqlite3.OperationalError("something odd"), Path("x.db"))
    assert "something odd" in error.words


def damage(path: Path, table: str, page: int) -> None:
    """Overwrite the ``page``-th leaf page of a table with rubbish."""
    connection = sqlite3.connect(path)
    pages = [
        row[0]
        for row in connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (table,)
        )
    ]
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with path.open("r+b") as file:
        file.seek((pages[page] - 1) * size)
        file.write(b"\xde\xad" * (size // 2))
