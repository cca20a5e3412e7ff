"""Backups and restores through SQLite's own API, and who has a file open."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from sessions_app.stores import StoreError, open_store
from sessions_app.stores.backup import backup_once, backup_place, backup_sqlite, restore
from sessions_app.stores.holders import database_files, holders
from sessions_app.stores.keeping import backup_remove, backups_due, kept_backups
from sessions_app.stores.sqlite import quick_check
from tests.factories.bigstore import make_store

from .conftest import beside, run
from .test_sqlite_read import WRITER
from .test_sqlite_write import everything

DAY = date(2026, 11, 30)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def in_use(database: Path):
    """Another process that has the database open, with a committed change that is only in the WAL."""
    with beside(WRITER, database) as process:
        yield process


def test_a_backup_holds_what_is_only_in_the_wal(database: Path, tmp_path: Path, in_use) -> None:
    dest = tmp_path / "backup.db"
    backup_sqlite(database, dest)

    with open_store(dest) as store:
        assert {row["title"] for row in store.sessions()} == {"while running"}
    assert quick_check(dest).state == "ok"
    assert dest.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("*backup.db*")] == ["backup.db"]


def test_there_is_one_backup_per_path_and_day(database: Path, tmp_path: Path) -> None:
    first = backup_once(database, tmp_path / "backups", day=DAY)
    run(database, "UPDATE session SET title = 'later'")
    again = backup_once(database, tmp_path / "backups", day=DAY)
    tomorrow = backup_once(database, tmp_path / "backups", day=date(2026, 12, 1))

    assert (first.fresh, again.fresh, tomorrow.fresh) == (True, False, True)
    assert first.path == again.path != tomorrow.path
    assert first.path is not None
    assert run(first.path, "SELECT count(*) FROM session WHERE title = 'later'") == [(0,)]


def test_a_database_over_the_limit_is_not_backed_up_and_says_so(database: Path, tmp_path: Path) -> None:
    skipped = backup_once(database, tmp_path / "backups", day=DAY, limit=1000)

    assert skipped.path is None
    assert "limit" in skipped.skipped


def test_a_restore_brings_every_row_back_and_keeps_the_state_before(database: Path, tmp_path: Path) -> None:
    backup_sqlite(database, tmp_path / "backup.db")
    before = everything(database)
    run(database, "DELETE FROM part")

    done = restore(tmp_path / "backup.db", database, directory=tmp_path / "kept", now=NOW)

    assert everything(database) == before
    assert run(database, "PRAGMA journal_mode") == [("wal",)]
    assert done.previous is not None
    assert run(done.previous, "SELECT count(*) FROM part") == [(0,)]


def test_a_restore_over_a_database_in_use_is_refused_unless_forced(database: Path, tmp_path: Path) -> None:
    backup_sqlite(database, tmp_path / "backup.db")
    reader = (
        "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('select count(*) from part').fetchone();"
        " print('ready', flush=True); sys.stdin.readline(); print(c.execute('select count(*) from part').fetchone()[0])"
    )
    with beside(reader, database) as process:
        run(database, "DELETE FROM part")

        with pytest.raises(StoreError) as caught:
            restore(tmp_path / "backup.db", database, directory=tmp_path / "kept", now=NOW)
        restore(tmp_path / "backup.db", database, directory=tmp_path / "kept", now=NOW, force=True)

        assert caught.value.kind == "in-use"
        assert str(process.pid) in caught.value.words
        assert process.communicate("\n")[0].strip() == "54"


def test_a_damaged_or_foreign_backup_is_refused(database: Path, tmp_path: Path) -> None:
    before = everything(database)
    backup_sqlite(database, tmp_path / "bad.db")
    with (tmp_path / "bad.db").open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 4)
    run(tmp_path / "other.db", "CREATE TABLE t(a)")

    for name in ("bad.db", "other.db", "none.db"):
        with pytest.raises(StoreError):
            restore(tmp_path / name, database, directory=tmp_path / "kept", now=NOW)

    assert everything(database) == before


def test_a_missing_database_is_made_anew_and_an_old_wal_is_not_mixed_in(database: Path, tmp_path: Path) -> None:
    backup_sqlite(database, tmp_path / "backup.db")
    before = everything(database)
    database.unlink()
    Path(f"{database}-wal").write_bytes(b"left over from before")

    restore(tmp_path / "backup.db", database, directory=tmp_path / "kept", now=NOW)

    assert everything(database) == before


def test_an_unreadable_database_is_set_aside_and_replaced(database: Path, tmp_path: Path) -> None:
    backup_sqlite(database, tmp_path / "backup.db")
    before = everything(database)
    database.write_bytes(b"garbage" * 1000)

    done = restore(tmp_path / "backup.db", database, directory=tmp_path / "kept", now=NOW)

    assert everything(database) == before
    assert done.previous is not None and done.previous.read_bytes().startswith(b"garbage")


def test_a_process_that_has_the_database_open_is_named(database: Path, in_use) -> None:
    found = holders(database_files(database))

    assert [holder.pid for holder in found] == [in_use.pid]
    assert "python" in found[0].command
    assert not found[0].is_client


def test_a_client_is_known_by_its_program(database: Path, tmp_path: Path) -> None:
    client = tmp_path / "opencode"
    client.symlink_to(sys.executable)
    code = "import sys; f=open(sys.argv[1]); print('ready', flush=True); sys.stdin.readline()"
    with beside(code, database, program=client), open_store(database) as store:
        (found,) = store.holders()

    assert found.is_client


def test_nobody_has_an_idle_database_open(database: Path) -> None:
    with open_store(database) as store:
        assert store.holders() == []


def test_a_backup_while_a_client_writes_all_the_time_ends(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_store(path, sessions=40, turns=10, output=2_000)
    code = (
        "import sqlite3,sys,time; c=sqlite3.connect(sys.argv[1], isolation_level=None); print('ready',"
        " flush=True)\nwhile True: c.execute('update session set time_updated=time_updated+1'); time.sleep(0.002)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        backup_sqlite(path, tmp_path / "backup.db", seconds=20)
    finally:
        process.kill()
        process.communicate()
    assert quick_check(tmp_path / "backup.db").state == "ok"


def test_a_backup_of_another_database_is_refused_unless_forced(database: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    make_store(other, sessions=1)
    run(other, "UPDATE session SET id = 'ses_another'")
    before = everything(database)

    with pytest.raises(StoreError, match="shares no session"):
        restore(other, database, directory=tmp_path / "kept", now=NOW)
    assert everything(database) == before

    restore(other, database, directory=tmp_path / "kept", now=NOW, force=True)
    assert run(database, "SELECT id FROM session") == [("ses_another",)]


BACKS_UP = """
import sys
from datetime import date
from pathlib import Path
from sessions_app.stores.backup import backup_once
path, folder = map(Path, sys.argv[1:])
for trial in range(1, 41):
    made = backup_once(path, folder, day=date.fromordinal(740_000 + trial))
    assert made.path is not None and made.path.is_file(), made.skipped
    print(int(made.fresh), flush=True)
"""


@pytest.mark.exhaustive
def test_eight_processes_at_once_make_one_whole_backup_each_day(database: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", BACKS_UP, str(database), str(tmp_path / "backups")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    said = [process.communicate()[0].split() for process in running]

    assert [process.returncode for process in running] == [0] * 8
    assert [sum(map(int, day)) for day in zip(*said, strict=True)] == [1] * 40
    (place,) = (tmp_path / "backups").iterdir()
    assert len(list(place.glob("*.db"))) == 40
    assert all(quick_check(path).state == "ok" for path in place.glob("*.db"))
    assert list(place.glob(".*.partial*")) == []


def test_what_a_killed_process_left_of_a_backup_is_no_backup_and_goes(database: Path, tmp_path: Path) -> None:
    dest = backup_place(database, tmp_path / "backups", DAY)
    dest.parent.mkdir(parents=True)
    leftover = dest.with_name(f".{dest.name}.0123.partial")
    leftover.write_bytes(b"half")

    made = backup_once(database, tmp_path / "backups", day=DAY)

    assert made.fresh
    assert made.path is not None and quick_check(made.path).state == "ok"
    assert not leftover.exists()


def test_without_links_a_backup_is_put_in_place_all_the_same(database: Path, tmp_path: Path, monkeypatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)

    made = backup_once(database, tmp_path / "backups", day=DAY)

    assert made.path is not None and quick_check(made.path).state == "ok"


def test_a_backup_that_cannot_be_made_says_why(database: Path, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sessions_app.stores.backup._sync", full)

    made = backup_once(database, tmp_path / "backups", day=DAY)

    assert (made.path, made.skipped) == (None, "The backup could not be made: No space left on device.")


@pytest.mark.parametrize("name", ["other.db", "letter.txt"])
def test_a_restore_never_replaces_what_is_no_database_of_opencode(database: Path, tmp_path: Path, name: str) -> None:
    backup_sqlite(database, tmp_path / "backup.db")
    target = tmp_path / name
    if name == "other.db":
        run(target, "CREATE TABLE recipes (name TEXT)")
    else:
        target.write_text("Dear Ann,")
    before = target.read_bytes()

    with pytest.raises(StoreError, match="no database of opencode"):
        restore(tmp_path / "backup.db", target, directory=tmp_path / "kept", now=NOW)

    assert target.read_bytes() == before
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("same", ["itself", "soft link", "hard link"])
def test_a_backup_that_is_the_database_itself_is_refused_at_once(
    database: Path, tmp_path: Path, same: str, force: bool
) -> None:
    backup = database
    if same != "itself":
        backup = tmp_path / "link.db"
        (backup.symlink_to if same == "soft link" else backup.hardlink_to)(database)

    with pytest.raises(StoreError, match="the backup itself"):
        restore(backup, database, directory=tmp_path / "kept", now=NOW, force=force, seconds=2)

    assert not (tmp_path / "kept").exists()


def test_of_each_database_the_newest_backups_are_kept_and_the_last_one_for_ever(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    other = tmp_path / "other.db"
    shutil.copy(database, other)
    for number in range(7):
        made = backup_once(database, folder, day=date(2026, 11, number + 1)).path
        assert made is not None
        os.utime(made, (NOW.timestamp() - 86_400 * (7 - number),) * 2)
    alone = backup_once(other, folder / "batch", day=DAY).path
    assert alone is not None
    os.utime(alone, (0, 0))
    kept = kept_backups(folder)

    assert len(kept) == 8 and {one.of for one in kept} == {str(database), str(other)}
    many = backups_due(kept, newest=5, oldest=NOW - timedelta(days=365), now=NOW)
    old = backups_due(kept, newest=5, oldest=NOW - timedelta(days=3.5), now=NOW)

    assert [one.path.stem for one in many] == ["2026-11-02", "2026-11-01"]
    assert [one.path.stem for one in old] == ["2026-11-04", "2026-11-03", "2026-11-02", "2026-11-01"]
    for one in kept:
        backup_remove(one, folder)
    assert not (folder / "batch").exists()
    assert kept_backups(folder) == []
