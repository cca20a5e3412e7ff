"""The guarded write: all or nothing, nothing but what was planned, and everybody else undisturbed."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores import About, GuardRefused, StoreError, open_store
from sessions_app.stores.journal import Journal
from sessions_app.stores.sqlite import SqliteStore, quick_check
from tests.factories.bigstore import make_store
from tests.paths import CORPUS

from .conftest import beside, replaced, run

VERSIONS = sorted(path.stem for path in (CORPUS / "schema").glob("*.sql"))


def everything(path: Path) -> list[Any]:
    """Every byte of every row of every table."""
    connection = sqlite3.connect(path)
    connection.text_factory = bytes
    try:
        tables = [
            row[0].decode()
            for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        ]
        return [(table, sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)) for table in tables]
    finally:
        connection.close()


def newest(path: Path) -> SessionRows:
    with open_store(path) as store:
        return next(store.read_all())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_and_its_undo_leave_every_byte_as_it_was(tmp_path: Path, journal: Journal, version: str) -> None:
    path = tmp_path / "opencode.db"
    make_store(path, version=version)
    before = everything(path)
    rows = newest(path)
    message, part = (
        rows.messages[1],
        [row for row in rows.parts if row["message_id"] == rows.messages[2]["id"]],
    )
    changes = [
        replaced(rows.parts[0], data=rows.parts[0]["data"].replace("step", "stop")),
        *(RowChange("part", {"id": row["id"]}, row, None) for row in part),
        RowChange("message", {"id": rows.messages[2]["id"]}, rows.messages[2], None),
        replaced(rows.session, "session", title="new", parent_id="ses_x"),
        RowChange("part", {"id": "prt_new"}, None, {**rows.parts[0], "id": "prt_new", "message_id": message["id"]}),
    ]

    with open_store(path) as store:
        done = store.apply(changes, journal=journal, about=About(actor="alice", reason="test"))
        assert everything(path) != before
        undone = store.apply(journal.get(done.entry_id).inverse, journal=journal, about=About(undoes=done.entry_id))

    assert everything(path) == before
    assert journal.get(done.entry_id).state == "undone"
    assert journal.get(done.entry_id).undone_by == undone.entry_id
    assert quick_check(path).state == "ok"


def test_only_the_columns_that_differ_are_written(database: Path, journal: Journal) -> None:
    rows = newest(database)
    with SqliteStore(database) as store:
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal)
        assert store.row("part", {"id": rows.parts[0]["id"]}) == {**rows.parts[0], "data": "{}"}


@pytest.mark.parametrize(
    "column, value", [("data", "{}"), ("time_updated", 1), ("message_id", "msg_x"), ("session_id", "ses_x")]
)
def test_a_row_that_changed_in_any_column_refuses_everything(
    database: Path, journal: Journal, column: str, value: Any
) -> None:
    rows = newest(database)
    run(database, f"UPDATE part SET {column} = ? WHERE id = ?", value, rows.parts[1]["id"])
    before = everything(database)

    with open_store(database) as store, pytest.raises(GuardRefused) as caught:
        store.apply([replaced(rows.parts[0], data="{}"), replaced(rows.parts[1], data="[]")], journal=journal)

    assert [(found.id, found.column) for found in caught.value.changed] == [(rows.parts[1]["id"], column)]
    assert everything(database) == before
    assert list(journal.entries()) == []


def test_a_row_that_changes_between_check_and_lock_refuses_too(database: Path, journal: Journal) -> None:
    rows = newest(database)

    def client_writes(step: str) -> None:
        if step == "prepared":
            run(database, "UPDATE part SET data = '[1]' WHERE id = ?", rows.parts[0]["id"])

    with open_store(database) as store, pytest.raises(GuardRefused):
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal, at=client_writes)

    (entry,) = journal.entries()
    assert entry.state == "failed"
    assert "changed since" in entry.failure
    assert run(database, "SELECT data FROM part WHERE id = ?", rows.parts[0]["id"]) == [("[1]",)]


def test_the_hash_of_the_plan_must_still_be_the_sessions(database: Path, journal: Journal) -> None:
    rows = newest(database)
    wanted = {rows.id: rows_hash(rows)}
    with open_store(database) as store:
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal, expect=wanted)

        with pytest.raises(GuardRefused, match="since the plan was made"):
            store.apply([replaced(rows.parts[1], data="{}")], journal=journal, expect=wanted)
        with pytest.raises(GuardRefused, match="gone"):
            store.apply([replaced(rows.parts[1], data="{}")], journal=journal, expect={"ses_none": "x"})


def test_a_session_that_grows_while_the_hash_is_taken_is_noticed(database: Path, journal: Journal) -> None:
    rows = newest(database)

    def client_adds_a_part(step: str) -> None:
        if step == "prepared":
            run(
                database,
                "INSERT INTO part VALUES ('prt_zzz', ?, ?, 1, 1, '{}')",
                rows.messages[0]["id"],
                rows.id,
            )

    with open_store(database) as store, pytest.raises(GuardRefused):
        store.apply(
            [replaced(rows.parts[0], data="{}")],
            journal=journal,
            expect={rows.id: rows_hash(rows)},
            at=client_adds_a_part,
        )


def test_a_client_that_keeps_writing_elsewhere_does_not_stop_the_write(database: Path, journal: Journal) -> None:
    rows = newest(database)
    original = SqliteStore.read

    def read_while_others_write(self: SqliteStore, session_id: str) -> SessionRows:
        found = original(self, session_id)
        if not locked:
            run(database, "UPDATE session SET time_updated = time_updated + 1 WHERE id <> ?", session_id)
        return found

    locked: list[bool] = []
    with pytest.MonkeyPatch.context() as patch, SqliteStore(database) as store:
        calls = []

        def counted(self: SqliteStore, session_id: str) -> SessionRows:
            calls.append(session_id)
            if len(calls) > 3:
                locked.append(True)
            return read_while_others_write(self, session_id)

        patch.setattr(SqliteStore, "read", counted)
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal, expect={rows.id: rows_hash(rows)})

    assert len(calls) == 4
    assert newest(database).parts[0]["data"] == "{}"


def test_ids_are_renumbered_with_everything_that_points_at_them(database: Path, journal: Journal) -> None:
    rows = newest(database)
    old = rows.messages[1]
    parts = [row for row in rows.parts if row["message_id"] == old["id"]]
    changes = [
        replaced(old, "message", id="msg_new"),
        *(replaced(row, message_id="msg_new") for row in parts),
    ]

    with open_store(database) as store:
        done = store.apply(changes, journal=journal)
        assert [row["id"] for row in store.read(rows.id).parts if row["message_id"] == "msg_new"] == [
            row["id"] for row in parts
        ]
        store.apply(journal.get(done.entry_id).inverse, journal=journal)

    assert rows_hash(newest(database)) == rows_hash(rows)
    assert run(database, "PRAGMA foreign_key_check") == []


def test_ids_can_change_places(database: Path, journal: Journal) -> None:
    rows = newest(database)
    one, two, three = rows.parts[:3]
    changes = [replaced(one, id=two["id"]), replaced(two, id=three["id"]), replaced(three, id=one["id"])]

    with open_store(database) as store:
        store.apply(changes, journal=journal)
        found = {row["id"]: row["data"] for row in store.read(rows.id).parts}

    assert [found[row["id"]] for row in (two, three, one)] == [row["data"] for row in (one, two, three)]
    assert len(found) == len(rows.parts)


def test_a_row_can_take_the_id_of_one_that_is_deleted(database: Path, journal: Journal) -> None:
    rows = newest(database)
    one, two = rows.messages[0], rows.messages[1]
    gone = [RowChange("part", {"id": row["id"]}, row, None) for row in rows.parts if row["message_id"] == one["id"]]
    moved = [replaced(row, message_id=one["id"]) for row in rows.parts if row["message_id"] == two["id"]]
    changes = [
        *gone,
        RowChange("message", {"id": one["id"]}, one, None),
        replaced(two, "message", id=one["id"]),
        *moved,
    ]

    with open_store(database) as store:
        done = store.apply(changes, journal=journal)
        found = store.read(rows.id)
        store.apply(journal.get(done.entry_id).inverse, journal=journal, about=About(undoes=done.entry_id))

    assert rows_hash(newest(database)) == rows_hash(rows)
    assert one["id"] in {row["id"] for row in found.messages}
    assert two["id"] not in {row["id"] for row in found.messages}
    assert sum(row["message_id"] == one["id"] for row in found.parts) == len(moved)


def test_deleting_a_message_never_takes_parts_that_were_not_named(database: Path, journal: Journal) -> None:
    rows = newest(database)
    before = everything(database)

    with open_store(database) as store, pytest.raises(GuardRefused, match="planned"):
        store.apply([RowChange("message", {"id": rows.messages[0]["id"]}, rows.messages[0], None)], journal=journal)

    assert everything(database) == before


def test_a_part_without_its_message_cannot_be_put_in(database: Path, journal: Journal) -> None:
    rows = newest(database)
    part = {**rows.parts[0], "id": "prt_new", "message_id": "msg_none"}
    before = everything(database)

    with open_store(database) as store, pytest.raises(GuardRefused, match="FOREIGN KEY"):
        store.apply([RowChange("part", {"id": "prt_new"}, None, part)], journal=journal)

    assert everything(database) == before


def orphaned(database: Path) -> tuple[SessionRows, dict[str, Any]]:
    """A session with a part whose message is not there."""
    rows = newest(database)
    orphan = {**rows.parts[0], "id": "prt_zzz_orphan", "message_id": "msg_none"}
    run(
        database,
        "INSERT INTO part SELECT ?, ?, session_id, time_created, time_updated, data FROM part LIMIT 1",
        orphan["id"],
        orphan["message_id"],
    )
    with open_store(database) as store:
        found = store.row("part", {"id": orphan["id"]})
    assert found is not None
    return rows, found


def test_a_repair_that_deletes_an_orphan_and_inserts_a_message_can_be_undone(database: Path, journal: Journal) -> None:
    rows, orphan = orphaned(database)
    before = everything(database)
    changes = [
        RowChange("part", {"id": orphan["id"]}, orphan, None),
        RowChange("message", {"id": "msg_new"}, None, {**rows.messages[0], "id": "msg_new"}),
        RowChange("part", {"id": "prt_new"}, None, {**rows.parts[0], "id": "prt_new", "message_id": "msg_new"}),
    ]

    with open_store(database) as store:
        done = store.apply(changes, journal=journal)
        store.apply(journal.get(done.entry_id).inverse, journal=journal, about=About(undoes=done.entry_id))

    assert everything(database) == before


def test_an_undo_never_takes_or_leaves_what_the_client_put_under_a_new_message(
    database: Path, journal: Journal
) -> None:
    rows = newest(database)
    with open_store(database) as store:
        new = RowChange("message", {"id": "msg_new"}, None, {**rows.messages[0], "id": "msg_new"})
        done = store.apply([new], journal=journal)
        run(database, "UPDATE part SET message_id = 'msg_new' WHERE id = ?", rows.parts[0]["id"])
        before = everything(database)
        with pytest.raises(GuardRefused, match="1 rows of part belong to it"):
            store.apply(journal.get(done.entry_id).inverse, journal=journal, about=About(undoes=done.entry_id))

    assert everything(database) == before


def test_a_repair_that_could_not_be_undone_is_refused_before_it_is_written(database: Path, journal: Journal) -> None:
    rows, _ = orphaned(database)
    before = everything(database)
    adopting = RowChange("message", {"id": "msg_none"}, None, {**rows.messages[0], "id": "msg_none"})

    with open_store(database) as store, pytest.raises(GuardRefused, match="could not be undone"):
        store.apply([adopting], journal=journal)

    assert everything(database) == before
    assert [entry.state for entry in journal.entries()] == ["failed"]


@pytest.mark.parametrize("when", ["before-journal", "prepared", "begun", "written"])
@pytest.mark.parametrize("expected", [True, False], ids=["hash", "rows"])
def test_a_file_that_is_put_in_the_place_of_the_one_that_was_read_is_not_written(
    database: Path, journal: Journal, when: str, expected: bool
) -> None:
    rows = newest(database)
    other = database.with_name("other.db")
    shutil.copy(database, other)
    run(other, "UPDATE session SET title = 'another'")
    before = everything(other)

    def rename(step: str) -> None:
        if step == when:
            other.replace(database)

    expect = {rows.id: rows_hash(rows)} if expected else None
    with open_store(database) as store, pytest.raises(GuardRefused, match="another file was put in the place"):
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal, expect=expect, at=rename)

    assert everything(database) == before
    assert all(entry.state == "failed" for entry in journal.entries())


def test_a_row_that_is_there_already_or_gone_is_refused(database: Path, journal: Journal) -> None:
    rows = newest(database)
    with open_store(database) as store:
        with pytest.raises(GuardRefused, match="exists already"):
            store.apply([RowChange("part", {"id": rows.parts[0]["id"]}, None, rows.parts[0])], journal=journal)
        run(database, "DELETE FROM part WHERE id = ?", rows.parts[0]["id"])
        with pytest.raises(GuardRefused, match="gone"):
            store.apply([replaced(rows.parts[0], data="{}")], journal=journal)


@pytest.mark.parametrize("table", ["account", "todo", "credential", "sqlite_schema"])
def test_the_clients_other_tables_are_never_written(database: Path, journal: Journal, table: str) -> None:
    with open_store(database) as store, pytest.raises(GuardRefused, match="never written"):
        store.apply([RowChange(table, {"id": "x"}, {"id": "x"}, None)], journal=journal)


def test_v2_rows_are_edited_in_place_and_are_added_with_their_event_only(corpus_copy, journal: Journal) -> None:
    path = corpus_copy("v2-gen1.db")
    with open_store(path) as store:
        rows = next(found for found in store.read_all() if found.session_message)
        row = rows.session_message[0]
        store.apply([replaced(row, "session_message", data=row["data"] + " ")], journal=journal)
        assert store.read(rows.id).session_message[0]["data"] == row["data"] + " "
        added = {**row, "id": "msg_n", "seq": row["seq"] + 1000}
        with pytest.raises(GuardRefused, match="with its event only"):
            store.apply([RowChange("session_message", {"id": "msg_n"}, None, added)], journal=journal)


def test_an_event_of_the_client_is_never_rewritten(database: Path, journal: Journal) -> None:
    event = {"id": "evt_1", "aggregate_id": "ses_1", "seq": 1, "type": "x", "data": "{}"}
    with open_store(database) as store, pytest.raises(GuardRefused, match="never rewritten"):
        store.apply([RowChange("event", {"id": "evt_1"}, event, {**event, "data": "[]"})], journal=journal)


def test_a_database_with_triggers_is_refused_and_they_do_not_run(database: Path, journal: Journal) -> None:
    run(database, "CREATE TRIGGER spy AFTER UPDATE ON part BEGIN UPDATE session SET title = 'pwned'; END")
    rows = newest(database)

    with open_store(database) as store, pytest.raises(StoreError, match="trigger"):
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal)

    assert run(database, "SELECT count(*) FROM session WHERE title = 'pwned'") == [(0,)]


def test_an_unknown_or_missing_column_is_refused(database: Path, journal: Journal) -> None:
    rows = newest(database)
    part = rows.parts[0]
    with open_store(database) as store:
        with pytest.raises(GuardRefused, match="no such column"):
            store.apply([RowChange("part", {"id": part["id"]}, part, {**part, "extra": 1})], journal=journal)
        run(database, "ALTER TABLE part ADD COLUMN later TEXT")
    with open_store(database) as store, pytest.raises(GuardRefused, match="does not know this column"):
        store.apply([replaced(part, data="{}")], journal=journal)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (("data text", "data text GENERATED ALWAYS AS (raw)"), "column data of table part is generated"),
        (("message_id text", "message text"), "table part has no column message_id"),
    ],
)
def test_a_column_that_is_generated_or_missing_is_named_and_nothing_is_written(
    database: Path, journal: Journal, change: tuple[str, str], cause: str
) -> None:
    with SqliteStore(database) as store:
        session = next(store.sessions())
    run(database, "DROP TABLE part")
    columns = "id text PRIMARY KEY, message_id text, session_id text, time_created int, data text, raw text"
    run(database, f"CREATE TABLE part ({columns.replace(*change)})")

    with SqliteStore(database) as store, pytest.raises(StoreError, match=cause) as caught:
        store.apply([replaced(session, "session", title="new")], journal=journal)

    assert caught.value.kind == "schema"
    with SqliteStore(database) as store:
        assert [problem.reason for problem in store.problems] == [f"The {cause}{', not stored' * ('gen' in cause)}."]


def test_a_value_that_sqlite_would_store_differently_is_refused(database: Path, journal: Journal) -> None:
    rows = newest(database)
    with open_store(database) as store, pytest.raises(GuardRefused, match="as planned"):
        store.apply([replaced(rows.parts[0], time_updated="12")], journal=journal)


def test_bytes_that_are_not_utf8_are_guarded_and_written(database: Path, journal: Journal) -> None:
    rows = newest(database)
    run(database, "UPDATE part SET data = CAST(? AS TEXT) WHERE id = ?", b'"\xff"', rows.parts[0]["id"])
    before = everything(database)
    part = newest(database).parts[0]

    with open_store(database) as store:
        done = store.apply([replaced(part, data=part["data"].replace('"', "'"))], journal=journal)
        assert run(database, "SELECT CAST(data AS BLOB), typeof(data) FROM part WHERE id = ?", part["id"]) == [
            (b"'\xff'", "text")
        ]
        store.apply(journal.get(done.entry_id).inverse, journal=journal)

    assert everything(database) == before


def test_the_journal_mode_stays_and_the_events_are_not_touched(database: Path, journal: Journal) -> None:
    events = run(database, "SELECT * FROM event_sequence")
    rows = newest(database)
    with open_store(database) as store:
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal)

    assert run(database, "PRAGMA journal_mode") == [("wal",)]
    assert run(database, "SELECT * FROM event_sequence") == events


LOCKER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_locked_database_is_busy_and_nothing_is_written(
    database: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.stores.sqlite.connection.BUSY_SECONDS", 0.1)
    rows = newest(database)
    with beside(LOCKER, database), SqliteStore(database) as store:
        assert store.holders()
        with pytest.raises(StoreError) as caught:
            store.apply([replaced(rows.parts[0], data="{}")], journal=journal)
    assert caught.value.kind == "busy"
    assert newest(database).parts[0] == rows.parts[0]


RACER = """
import sys
from pathlib import Path
from sessions_app.domain.repair import RowChange
from sessions_app.stores import GuardRefused, open_store
from sessions_app.stores.journal import Journal
path, name = sys.argv[1:]
with open_store(path) as store:
    rows = next(store.read_all())
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        changes = [RowChange("part", {"id": p["id"]}, p, {**p, "data": name}) for p in rows.parts]
        store.apply(changes, journal=Journal(Path(path).parent / name))
        print("done")
    except GuardRefused:
        print("refused")
"""


def test_of_two_processes_with_the_same_plan_one_wins_whole(database: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(database), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    answers = [racer.communicate()[0].strip() for racer in racers]

    assert sorted(answers) == ["done", "refused"]
    winner = ("one", "two")[answers.index("done")]
    assert {row["data"] for row in newest(database).parts} == {winner}


def test_a_thousand_rows_keep_others_waiting_for_well_under_a_second(tmp_path: Path, journal: Journal) -> None:
    path = tmp_path / "x.db"
    make_store(path, sessions=1, turns=115)
    rows = newest(path)
    assert len(rows.parts) > 1_000

    with open_store(path) as store:
        done = store.apply([replaced(row, data="{}") for row in rows.parts], journal=journal)

    assert done.seconds < 0.8


LOOKER = LOCKER.replace("BEGIN IMMEDIATE", "SELECT count(*) FROM part")


def test_a_long_repair_is_written_only_where_nobody_else_would_wait_for_it(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.stores.sqlite.writer.LOCK_SECONDS", 0.0)
    path = tmp_path / "x.db"
    make_store(path, sessions=1, turns=115)
    before = newest(path)
    changes = [replaced(row, data="{}") for row in before.parts]

    with beside(LOOKER, path), open_store(path) as store, pytest.raises(StoreError) as caught:
        store.apply(changes, journal=journal)
    assert caught.value.kind == "too-long"
    assert newest(path).parts == before.parts

    with open_store(path) as store:
        store.apply(changes, journal=journal)
    assert {row["data"] for row in newest(path).parts} == {"{}"}


def test_a_plan_of_several_rounds_is_written_as_one_change_per_row(database: Path, journal: Journal) -> None:
    rows = newest(database)
    part = rows.parts[0]
    half = {**part, "data": "{"}
    changes = [
        replaced(part, data="{"),
        RowChange("part", {"id": part["id"]}, half, {**half, "id": "prt_2", "data": "{}"}),
    ]

    with open_store(database) as store:
        done = store.apply(changes, journal=journal)
        assert store.row("part", {"id": "prt_2"}) == {**part, "id": "prt_2", "data": "{}"}
        store.apply(inverted(tuple(changes)), journal=journal)

    assert len(done.changes) == 1
    assert rows_hash(newest(database)) == rows_hash(rows)


def test_rounds_that_do_not_follow_from_each_other_are_refused(database: Path, journal: Journal) -> None:
    part = newest(database).parts[0]
    with open_store(database) as store, pytest.raises(GuardRefused, match="follow"):
        store.apply([replaced(part, data="{"), replaced(part, data="[")], journal=journal)


def test_changes_that_cancel_out_write_nothing(database: Path, journal: Journal) -> None:
    part = newest(database).parts[0]
    change = replaced(part, data="{}")
    with open_store(database) as store:
        assert store.apply([change, change.inverse()], journal=journal).changes == ()
    assert list(journal.entries()) == []


def test_a_database_that_is_not_in_wal_mode_is_written_as_well(corpus_copy, journal: Journal) -> None:
    path = corpus_copy("clean.db")
    rows = newest(path)
    with open_store(path) as store:
        store.apply([replaced(rows.session, "session", title="new")], journal=journal)
    assert newest(path).session["title"] == "new"
    assert run(path, "PRAGMA journal_mode") == [("delete",)]
