"""A store slimmed in its place: the old or the new one at any time, and the old file kept."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sessions_app.services.slimming import Slimming, file_slim, slim_preview
from sessions_app.stores import replacing
from sessions_app.stores.backup import restore
from sessions_app.stores.base import StoreError
from sessions_app.stores.shares import share_of
from tests.paths import CORPUS
from tests.stores.test_slimming import changed, quiet, tables

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
STEPS = ("surveyed", "copied", "checked", "locked", "kept", "replaced")

KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from sessions_app.services.slimming import file_slim

path, where = sys.argv[1:]

def at(step):
    if step == where:
        os.kill(os.getpid(), signal.SIGKILL)

file_slim(path=Path(path), output=None, now=datetime.now(UTC), progress=lambda *_: None, at=at)
"""

OPENS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=20)
print("waiting", flush=True)
connection.execute("SELECT count(*) FROM session").fetchone()
sys.stdin.readline()
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store as a killed client leaves it: the last changes are in its WAL."""
    path = Path(shutil.copy(CORPUS / "dup_id_slow.db", tmp_path / "opencode.db"))
    left = tmp_path / "left"
    left.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE session SET title = 'the last title'")
        connection.commit()
        for file in (path, Path(f"{path}-wal")):
            shutil.copy(file, left)
    for file in left.iterdir():
        shutil.move(file, tmp_path / file.name)
    left.rmdir()
    return path


def in_place(path: Path) -> Slimming:
    return file_slim(path=path, output=None, now=NOW, progress=quiet)


def without_events(path: Path) -> dict[str, list[tuple[object, ...]]]:
    return {name: rows for name, rows in tables(path).items() if name != "event"}


def test_the_slimmed_store_takes_the_place_and_the_old_file_is_kept(store: Path) -> None:
    store.chmod(0o640)
    before = tables(store)

    done = in_place(store)

    assert sorted(file.name for file in store.parent.iterdir()) == sorted([Path(done.kept).name, "opencode.db"])
    assert without_events(store) == {name: rows for name, rows in before.items() if name != "event"}
    assert len(tables(store)["event"]) == len(before["event"]) - done.removed == 11
    assert tables(Path(done.kept)) == before
    assert store.stat().st_mode & 0o777 == 0o640


def test_restore_puts_the_old_file_back_and_forgetting_deletes_it(store: Path, tmp_path: Path) -> None:
    before = tables(store)
    kept = Path(in_place(store).kept)

    restore(kept, store, directory=tmp_path / "backups", now=NOW)

    assert tables(store) == before
    assert replacing.kept_files(store) == [kept]
    assert [file for file, _ in replacing.kept_forget(store)] == [kept]
    assert not kept.exists() and store.exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_leaves_a_whole_store_and_the_next_run_leaves_nothing_behind(store: Path, step: str) -> None:
    before = tables(store)

    killed = subprocess.run([sys.executable, "-c", KILLED, str(store), step], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert without_events(store) == {name: rows for name, rows in before.items() if name != "event"}
    assert len(tables(store)["event"]) == (11 if step == "replaced" else 29)
    kept = replacing.kept_files(store)
    assert [tables(file) for file in kept] == ([before] if step == "replaced" else [])
    in_place(store)
    replacing.kept_forget(store)
    assert len(tables(store)["event"]) == 11
    assert [file.name for file in store.parent.iterdir() if not file.name.endswith(("-wal", "-shm"))] == ["opencode.db"]


def test_a_store_that_a_client_has_open_is_left_alone(store: Path, tmp_path: Path) -> None:
    before = store.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", OPENS, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as client:
        assert client.stdout is not None
        client.stdout.readline()
        for output in (None, tmp_path / "new.db"):
            with pytest.raises(StoreError, match=str(client.pid)) as caught:
                file_slim(path=store, output=output, now=NOW, progress=quiet)
            assert caught.value.kind == "in-use"
        assert str(client.pid) in slim_preview(path=store, now=NOW, progress=quiet).in_use
        client.kill()
    assert store.read_bytes() == before
    assert not (tmp_path / "new.db").exists()


def test_a_client_that_starts_while_the_file_is_put_in_place_stays_with_the_file_it_opened(store: Path) -> None:
    client: list[subprocess.Popen[bytes]] = []
    inode = store.stat().st_ino

    def at(step: str) -> None:
        if step == "locked":
            command = [sys.executable, "-c", OPENS, str(store)]
            client.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            assert client[0].stdout is not None
            client[0].stdout.readline()
            while not _has_open(client[0].pid, inode):
                pass

    try:
        with pytest.raises(StoreError) as caught:
            file_slim(path=store, output=None, now=NOW, progress=quiet, at=at)
        client[0].communicate(b"\n", timeout=30)
    finally:
        client[0].kill()
        client[0].wait()

    assert caught.value.kind == "in-use"
    assert client[0].returncode == 0
    assert store.stat().st_ino == inode
    assert len(tables(store)["event"]) == 29
    assert replacing.kept_files(store) == []


def _has_open(pid: int, inode: int) -> bool:
    """The process has come as far as the lock."""
    files = Path(f"/proc/{pid}/fd")
    return any(os.stat(file).st_ino == inode for file in files.iterdir() if file.exists())


def test_a_store_that_is_written_to_meanwhile_is_left_as_it_is_then(store: Path) -> None:
    def at(step: str) -> None:
        if step == "checked":
            changed(store, "UPDATE session SET title = 'later'")

    with pytest.raises(StoreError, match="written to while") as caught:
        file_slim(path=store, output=None, now=NOW, progress=quiet, at=at)

    assert caught.value.kind == "busy"
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT title FROM session").fetchone() == ("later",)
    assert [file.name for file in store.parent.iterdir() if not file.name.endswith(("-wal", "-shm"))] == ["opencode.db"]


def test_a_file_with_a_second_name_is_not_replaced(store: Path, tmp_path: Path) -> None:
    os.link(store, tmp_path / "second.db")

    with pytest.raises(StoreError, match="second name"):
        in_place(store)

    assert store.samefile(tmp_path / "second.db")


def test_a_link_to_the_store_still_leads_to_it(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)

    in_place(link)

    assert link.is_symlink() and len(tables(link)["event"]) == 11


def test_the_preview_says_what_slimming_frees(store: Path) -> None:
    changed(store, "CREATE TABLE waste (text)", "INSERT INTO waste VALUES (zeroblob(4000000))", "DROP TABLE waste")

    preview = slim_preview(path=store, now=NOW, progress=quiet)
    done = in_place(store)

    assert preview.freed == pytest.approx(done.before - done.after, rel=0.05)
    assert preview.left == pytest.approx(done.after, abs=0.05 * done.before)
    assert not preview.sampled and preview.whole == ()


def test_a_folder_and_a_stranger_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Only a database"):
        in_place(tmp_path)
    changed(tmp_path / "other.db", "CREATE TABLE mine (a)")
    with pytest.raises(StoreError, match="not one of opencode's"):
        in_place(tmp_path / "other.db")


def test_a_network_share_is_told(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nhost:/home {tmp_path}/my\\040share nfs4 rw 0 0\n")

    assert share_of(tmp_path / "my share" / "opencode.db", mounts) == "nfs4"
    assert share_of(tmp_path / "opencode.db", mounts) == ""


def test_the_command_previews_writes_and_forgets(suture, store: Path, tmp_path: Path) -> None:
    looked = json.loads(suture("slim", str(store), "--json").out)
    made = suture("slim", str(store), "--output", str(tmp_path / "small.db"))
    again = suture("slim", str(store), "--output", str(tmp_path / "small.db"))
    placed = json.loads(suture("slim", str(store), "--in-place", "--json").out)
    forgotten = suture("slim", str(store), "--forget-old")

    assert looked["freed"] > 0 and looked["left_whole"] == []
    assert made.code == 0 and "18 of 29 events are gone" in made.out
    assert again.code == 2 and "exists already" in again.err
    assert placed["removed"] == 18 and placed["kept"]
    assert "Deleted" in forgotten.out and not Path(placed["kept"]).exists()


def test_a_file_system_that_refuses_the_new_name_leaves_all_as_it_was(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if self.name.endswith(".slimmed"):
            raise PermissionError(13, "Permission denied")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", refused)

    with pytest.raises(StoreError, match="could not be put in place"):
        in_place(store)

    assert [file.name for file in store.parent.iterdir()] == ["opencode.db"]
    assert len(tables(store)["event"]) == 29
