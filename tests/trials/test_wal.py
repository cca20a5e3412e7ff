"""What a dead process left beside a database: a write-ahead log with and without its index, one of another file, one
larger than the file, a rollback journal."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sessions_app.stores import StoreError, open_store
from sessions_app.stores.intake import take_in
from sessions_app.stores.sqlite import quick_check
from tests.paths import CORPUS
from tests.trials import surroundings

NAME = "dup_id_slow"

DIES = """
import os, signal, sqlite3, sys
path, mode, filler, ends = sys.argv[1:]
connection = sqlite3.connect(path, isolation_level=None)
connection.execute(f"PRAGMA journal_mode = {mode}")
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("PRAGMA cache_size = 2")
connection.execute("BEGIN")
connection.execute("UPDATE session SET title = 'by the dead'")
for number in range(int(filler)):
    connection.execute("INSERT INTO part SELECT ? || id, message_id, session_id, 1, 1, data || printf('%2000s', ' ')"
        " FROM (SELECT * FROM part WHERE id NOT LIKE 'filler%' LIMIT 20)", (f"filler{number:04}",))
if ends == "whole":
    connection.execute("COMMIT")
os.kill(os.getpid(), signal.SIGKILL)
"""


def left(folder: Path, mode: str = "wal", filler: int = 0, ends: str = "whole") -> Path:
    """A database whose writer was killed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(shutil.copyfile(CORPUS / f"{NAME}.db", folder / "opencode.db"))
    dead = subprocess.run([sys.executable, "-c", DIES, str(path), mode, str(filler), ends], check=False)
    assert dead.returncode == -signal.SIGKILL
    return path


def beside(path: Path, end: str) -> Path:
    return Path(f"{path}-{end}")


def as_it_is(path: Path) -> None:
    """Nothing more."""


def without_index(path: Path) -> None:
    beside(path, "shm").unlink()


def of_another_machine(path: Path) -> None:
    """The index came along and speaks of processes that never were here."""
    moved = path.parent / "copy"
    moved.mkdir()
    for end in ("", "-wal", "-shm"):
        shutil.copyfile(f"{path}{end}", moved / f"{path.name}{end}")
        os.remove(f"{path}{end}")
        shutil.move(moved / f"{path.name}{end}", f"{path}{end}")


def with_a_damaged_index(path: Path) -> None:
    beside(path, "shm").write_bytes(b"\xff" * 32768)


def cut_short(path: Path) -> None:
    log = beside(path, "wal")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 1000)


@pytest.mark.exhaustive
@pytest.mark.parametrize("filler", [0, 60], ids=["small", "larger than the file"])
@pytest.mark.parametrize("after", [as_it_is, without_index, of_another_machine, with_a_damaged_index])
def test_what_a_dead_writer_had_committed_is_read_repaired_and_kept(
    tmp_path: Path, after: Callable[[Path], None], filler: int
) -> None:
    path = left(tmp_path, filler=filler)
    assert not filler or beside(path, "wal").stat().st_size > path.stat().st_size
    after(path)

    shown = surroundings.suture(tmp_path, "scan", path, "--json")
    done = surroundings.suture(tmp_path, "repair", path, "--json")

    assert '"title":"by the dead"' in shown.out
    assert done.code == 0, done.err
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT DISTINCT title FROM session").fetchall() == [("by the dead",)]
        [fillers] = connection.execute("SELECT count(*) FROM part WHERE id LIKE 'filler%'").fetchone()
        assert bool(fillers) == bool(filler)
    connection.close()
    assert quick_check(path).state == "ok"
    assert surroundings.suture(tmp_path, "scan", path).code == 0
    [backup] = (tmp_path / "data" / "backups").rglob("*.db")
    with open_store(backup) as store:
        assert next(store.sessions())["title"] == "by the dead"


def test_a_log_of_which_the_end_is_missing_gives_what_was_whole_before(tmp_path: Path) -> None:
    path = left(tmp_path)
    cut_short(path)
    with open_store(path) as store:
        assert next(store.sessions())["title"] != "by the dead"
    assert quick_check(path).state == "ok"


def test_a_log_of_another_database_is_not_made_part_of_the_file_by_looking(tmp_path: Path) -> None:
    """SQLite cannot tell that it is another's; opencode would read the same."""
    path, other = left(tmp_path / "one"), left(tmp_path / "other", filler=3)
    shutil.copyfile(CORPUS / "clean.db", path)
    for end in ("wal", "shm"):
        shutil.copyfile(beside(other, end), beside(path, end))
    before = path.read_bytes(), beside(path, "wal").read_bytes()

    with contextlib.suppress(StoreError), open_store(path) as store:
        list(store.read_all())
    quick_check(path)

    assert (path.read_bytes(), beside(path, "wal").read_bytes()) == before


def test_an_upload_with_a_log_larger_than_its_file_holds_what_is_in_it(tmp_path: Path) -> None:
    path = left(tmp_path / "from", filler=60)
    with path.open("rb") as file, beside(path, "wal").open("rb") as log:
        taken = take_in(file, tmp_path / "upload", name="opencode.db", wal=log)
    with open_store(taken.path) as store:
        assert next(store.sessions())["title"] == "by the dead"
        assert len(next(store.read_all()).parts) > 300


@pytest.mark.parametrize("ends", ["whole", "half"])
def test_a_rollback_journal_of_a_dead_writer_takes_back_what_was_half_written(tmp_path: Path, ends: str) -> None:
    path = left(tmp_path, mode="delete", filler=60, ends=ends)
    assert (beside(path, "journal").exists()) == (ends == "half")
    with sqlite3.connect(f"file:{CORPUS / NAME}.db?mode=ro&immutable=1", uri=True) as connection:
        before = connection.execute("SELECT title FROM session").fetchall()
    connection.close()

    with open_store(path) as store:
        titles = [(row["title"],) for row in store.sessions()]

    assert titles == (before if ends == "half" else [("by the dead",)])
    assert quick_check(path).state == "ok"


def test_a_rollback_journal_that_may_not_be_used_is_said(tmp_path: Path) -> None:
    path = left(tmp_path / "store", mode="delete", filler=60, ends="half")
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        told = surroundings.suture(tmp_path, "scan", path, before=surroundings.without_privileges)
    finally:
        path.parent.chmod(0o755)
    assert told.code == 2
    assert "changes in its -journal" in told.err
