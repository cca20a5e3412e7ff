"""The SQL patch, run by the real sqlite3 program: it repairs, it is undone, and it refuses whole where anything
changed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessions_app import stores
from sessions_app.domain.repair import RowChange
from sessions_app.services.handback.patch import patch_sql, undo_sql
from tests.examples import one_in
from tests.paths import CORPUS

from .sqlite import PROGRAM, change, rows, run

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the sqlite3 program is not installed")


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    return Path(shutil.copyfile(CORPUS / "dup_id_slow.db", tmp_path / "opencode.db"))


@pytest.fixture
def patch(suture, poisoned, tmp_path) -> tuple[str, str]:
    """Patch and undo script, as ``repair --patch`` writes them."""
    made = suture("repair", poisoned, "--patch", tmp_path / "patch.sql")
    assert made.code == 0, made.err
    return (tmp_path / "patch.sql").read_text("utf-8"), (tmp_path / "patch.undo.sql").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "dup_id_slow",
        "retry_text",
        "abort_parallel",
        "kill_pending_args@1.18.11",
        "lone_surrogate",
        "seed_40235@1.14.41",
        "kill_parallel@1.2.1",
    ],
)
def test_the_patch_does_what_the_repair_does_and_the_undo_takes_it_back(suture, tmp_path, name) -> None:
    database = Path(shutil.copyfile(CORPUS / f"{name}.db", tmp_path / "opencode.db"))
    tables = ("session", "message", "part")
    before = rows(database, *tables)
    suture("repair", database, "--patch", tmp_path / "patch.sql")
    suture("repair", database, "--output", tmp_path / "repaired.db")

    done = run(database, (tmp_path / "patch.sql").read_text("utf-8"))
    after = rows(database, *tables)
    undone = run(database, (tmp_path / "patch.undo.sql").read_text("utf-8"))

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"rows changed" in done.stdout
    assert after == rows(tmp_path / "repaired.db", *tables)
    assert (undone.returncode, undone.stderr) == (0, b"")
    assert rows(database, *tables) == before


def test_a_changed_row_refuses_the_patch_whole_and_names_the_row(poisoned, patch) -> None:
    with closing(sqlite3.connect(poisoned)) as connection:
        part = connection.execute(
            "SELECT id FROM part WHERE data LIKE '%functions.bash:0%' ORDER BY id DESC"
        ).fetchone()[0]
    change(poisoned, "UPDATE part SET data = replace(data, 'echo', 'ECHO') WHERE id = ?", part)
    before = rows(poisoned)

    refused = run(poisoned, patch[0])

    assert refused.returncode != 0
    assert f"part {part} changed since this patch was made; nothing was written".encode() in refused.stderr
    assert rows(poisoned) == before


def test_a_session_that_went_on_refuses_the_patch(poisoned, patch) -> None:
    change(
        poisoned,
        "INSERT INTO message SELECT 'msg_zzz', session_id, time_created + 9, time_updated, data FROM message LIMIT 1",
    )
    before = rows(poisoned)

    refused = run(poisoned, patch[0])

    assert refused.returncode != 0
    assert b"went on since this patch was made; nothing was written" in refused.stderr
    assert rows(poisoned) == before


def test_a_patch_is_refused_the_second_time(poisoned, patch) -> None:
    run(poisoned, patch[0])
    repaired = rows(poisoned)

    again = run(poisoned, patch[0])

    assert again.returncode != 0
    assert b"nothing was written" in again.stderr
    assert rows(poisoned) == repaired


def test_an_undo_is_refused_where_the_session_was_repaired_otherwise_since(poisoned, patch) -> None:
    run(poisoned, patch[0])
    change(poisoned, "UPDATE part SET data = replace(data, 'hi', 'ho')")
    change(poisoned, "UPDATE part SET data = data || ' ' WHERE id = (SELECT max(id) FROM part)")
    before = rows(poisoned)

    refused = run(poisoned, patch[1])

    assert refused.returncode != 0
    assert rows(poisoned) == before


def test_a_locked_database_is_left_as_it_is(poisoned, patch) -> None:
    with closing(sqlite3.connect(poisoned, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        refused = run(poisoned, patch[0].replace(".timeout 5000", ".timeout 50"))

    assert refused.returncode != 0
    assert b"locked" in refused.stderr


def test_hostile_ids_end_no_statement_and_no_comment(tmp_path) -> None:
    database = _table(tmp_path / "t.db")
    hostile = "x'; DROP TABLE part; --\n.quit\n\"]"
    insert = RowChange("part", {"id": hostile}, None, _part(hostile, "{}"))

    done = run(database, patch_sql([insert], made_for="a\n.shell true"))

    assert (done.returncode, done.stderr) == (0, b"")
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT id FROM part").fetchall() == [(hostile,)]


def test_ids_may_change_places(tmp_path) -> None:
    database = _table(tmp_path / "t.db", ("prt_a", "A"), ("prt_b", "B"), ("prt_c", "C"))
    changes = [
        RowChange("part", {"id": old}, _part(old, data), _part(new, data))
        for old, new, data in (("prt_a", "prt_b", "A"), ("prt_b", "prt_c", "B"), ("prt_c", "prt_a", "C"))
    ]
    before = rows(database, "part")

    done = run(database, patch_sql(changes, made_for="t"))
    with closing(sqlite3.connect(database)) as connection:
        after = dict(connection.execute("SELECT id, data FROM part").fetchall())
    undone = run(database, undo_sql(changes, made_for="t"))

    assert done.returncode == undone.returncode == 0, done.stderr + undone.stderr
    assert after == {"prt_b": "A", "prt_c": "B", "prt_a": "C"}
    assert rows(database, "part") == before


def test_parts_that_came_to_a_deleted_message_refuse_the_patch(tmp_path) -> None:
    database = tmp_path / "t.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE message (id text PRIMARY KEY, session_id text, data text)")
        connection.execute("CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text)")
        connection.execute("INSERT INTO message VALUES ('msg_1', 'ses_1', '{}')")
        connection.execute("INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{}')")
    gone = RowChange("message", {"id": "msg_1"}, {"id": "msg_1", "session_id": "ses_1", "data": "{}"}, None)

    refused = run(database, patch_sql([gone], made_for="t"))

    assert b"message msg_1 has parts that this patch does not know" in refused.stderr
    assert rows(database, "message")["message"]


_value = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
    st.binary(max_size=40),
    st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
)


@one_in(4)
@given(before=_value, after=_value)
@example(before=-4.157461507470811e-307, after=1.1853786494426351e-293)  # sqlite3 3.40 reads their neighbours
@example(before=5e-324, after=-1.7976931348623157e308)
@example(before=0.1, after=-2.5)
@example(before=2.0**70, after=1e15 + 0.5)
def test_every_value_is_written_and_put_back_byte_for_byte(tmp_path_factory, before, after) -> None:
    database = _table(tmp_path_factory.mktemp("values") / "t.db")
    _bind(database, before)
    stored = rows(database, "part")
    one = RowChange("part", {"id": "prt_1"}, _part("prt_1", before), _part("prt_1", after))

    done = run(database, patch_sql([one], made_for="t"))
    written = rows(database, "part")
    undone = run(database, undo_sql([one], made_for="t"))

    assert (done.returncode, done.stderr) == (0, b"")
    expected = _table(tmp_path_factory.mktemp("values") / "t.db")
    _bind(expected, after)
    assert written == rows(expected, "part")
    assert (undone.returncode, undone.stderr) == (0, b"")
    assert rows(database, "part") == stored


def test_a_patch_for_a_tree_is_refused_in_words(suture) -> None:
    made = suture("export", CORPUS / "kill_parallel@1.0.152.storage.tgz", "--as", "patch")

    assert made.code == 2
    assert "A patch is for a database" in made.err


def test_the_patch_of_one_session_equals_its_repair(suture, poisoned) -> None:
    made = suture("export", poisoned, "--as", "patch")
    done = run(poisoned, made.out)

    assert done.returncode == 0, done.stderr
    with stores.open_store(poisoned) as store:
        assert suture("scan", store.path, "--json").json["sessions"][0]["health"] == "healthy"


def _part(part_id: str, data: object) -> dict[str, object]:
    return {"id": part_id, "data": data}


def _table(path: Path, *parts: tuple[str, str]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE part (id text PRIMARY KEY, data)")
        connection.executemany("INSERT INTO part VALUES (?, ?)", parts)
    return path


def _bind(database: Path, value: object) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        if isinstance(value, str):
            connection.execute(
                "INSERT INTO part VALUES ('prt_1', CAST(? AS TEXT))",
                (value.encode("utf-8", "surrogateescape"),),
            )
        else:
            connection.execute("INSERT INTO part VALUES ('prt_1', ?)", (value,))
