"""Damaged databases: found out in time, and recovered into a new file."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sessions_app.stores import StoreError, open_store
from sessions_app.stores.sqlite import quick_check, recover
from tests.factories.bigstore import make_store

from .conftest import run
from .test_sqlite_read import damage


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    make_store(path, sessions=3, turns=40, output=3_000)
    damage(path, "part", page=30)
    return path


def test_a_sound_database_is_ok(database: Path) -> None:
    assert quick_check(database).state == "ok"
    assert quick_check(database, full=True).state == "ok"


def test_damage_is_told_in_sqlites_words(damaged: Path) -> None:
    check = quick_check(damaged)

    assert check.state == "damaged"
    assert check.messages
    assert not check.only_indexes


def test_a_check_that_takes_too_long_is_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_store(path, sessions=40, turns=10, output=2_000)

    assert quick_check(path, seconds=-1).state == "unfinished"


def test_what_can_be_read_is_saved_and_the_loss_is_counted_by_session(damaged: Path, tmp_path: Path) -> None:
    before = damaged.read_bytes()

    result = recover(damaged, tmp_path / "new.db")

    assert damaged.read_bytes() == before
    assert quick_check(result.path, full=True).state == "ok"
    with open_store(result.path) as store:
        found = {rows.id: len(rows.parts) + len(rows.messages) for rows in store.read_all()}
    assert len(found) == 3
    whole = 40 * (8 + 3) + 40
    expected = {session: number for session, number in found.items() if number < 40 * 9 + 40 * 3}
    assert result.lost == {session: 40 * 12 - number for session, number in expected.items()}
    assert 0 < sum(result.lost.values()) < whole


def test_recovery_never_writes_over_a_file(damaged: Path, tmp_path: Path) -> None:
    (tmp_path / "new.db").write_text("mine")

    with pytest.raises(FileExistsError):
        recover(damaged, tmp_path / "new.db")
    assert (tmp_path / "new.db").read_text() == "mine"


def test_nothing_to_recover_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)

    with pytest.raises(StoreError):
        recover(path, tmp_path / "new.db")
    assert [file.name for file in tmp_path.iterdir() if "new" in file.name] == []


def test_the_programs_own_recovery_is_used_where_it_works(database: Path, tmp_path: Path) -> None:
    """A stand-in for a sqlite3 program with ``.recover``: it prints what the real one prints, and a shell command in a
    schema."""
    program = tmp_path / "sqlite3"
    marker = tmp_path / "executed"
    program.write_text(
        f"""#!/bin/sh
case "$1" in
:memory:) echo "CREATE TABLE t(a);" ;;
*) cat <<'END'
BEGIN;
PRAGMA writable_schema = on;
CREATE TABLE evil(b);
.shell touch {marker};
CREATE TABLE session(id TEXT PRIMARY KEY, title TEXT, time_updated);
CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created, time_updated, data TEXT);
INSERT INTO session VALUES('ses_1', 'a;
b', 1);
INSERT INTO message VALUES('msg_1', 'ses_1', 1, 1, '{{}}');
INSERT INTO nowhere VALUES(1);
CREATE TABLE lost_and_found(a);
INSERT INTO lost_and_found VALUES(7);
ATTACH '{marker}' AS x;
COMMIT;
END
;;
esac
"""
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    result = recover(database, tmp_path / "new.db", program=str(program))

    assert result.method == "sqlite3 .recover"
    assert (result.rows, result.unplaced) == (2, 1)
    assert not marker.exists()
    assert any("could not be used" in note for note in result.notes)
    with open_store(result.path) as store:
        assert store.read("ses_1").session["title"] == "a;\nb"
        assert len(store.read("ses_1").messages) == 1
    assert len(result.lost) == 3


def test_a_program_that_cannot_recover_is_not_trusted(database: Path, tmp_path: Path) -> None:
    program = tmp_path / "sqlite3"
    program.write_text("#!/bin/sh\necho 'sql error: SQL logic error (1)' >&2\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    result = recover(database, tmp_path / "new.db", program=str(program))

    assert result.method == "row by row"
    assert result.lost == {}
    assert run(result.path, "SELECT count(*) FROM part") == [(54,)]
