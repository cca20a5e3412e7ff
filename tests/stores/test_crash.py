"""Kill -9 at every step of a write leaves the old or the new state, and the next start says which
(docs/contract/design.md#5.2)."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores import About, open_store
from sessions_app.stores.journal import Journal
from sessions_app.stores.sqlite import quick_check
from tests.factories.bigstore import make_store
from tests.paths import CORPUS

KILLED = """
import os, signal, sys
from pathlib import Path
from sessions_app.domain.repair import RowChange
from sessions_app.stores import About, open_store
from sessions_app.stores.journal import Journal

path, journal, where = sys.argv[1:]

def at(step):
    if step == where:
        os.kill(os.getpid(), signal.SIGKILL)

with open_store(path) as store:
    rows = next(store.read_all())
    doomed = rows.parts[-1]
    changes = [RowChange("part", {"id": p["id"]}, p, {**p, "data": "{ " + p["data"][1:]}) for p in rows.parts[:4]]
    changes.append(RowChange("part", {"id": doomed["id"]}, doomed, None))
    store.apply(changes, journal=Journal(Path(journal)), at=at)
"""

UNDONE = """
import os, signal, sys
from pathlib import Path
from sessions_app.stores import About, open_store
from sessions_app.stores.journal import Journal

path, journal, where = sys.argv[1:]
kept = Journal(Path(journal))
(entry,) = kept.entries()

def at(step):
    if step == where:
        os.kill(os.getpid(), signal.SIGKILL)

with open_store(path) as store:
    store.apply(entry.inverse, journal=kept, about=About(undoes=entry.id), at=at)
"""

STEPS = ("before-journal", "prepared", "begun", "row 0", "row 2", "written", "committed", "told", "marked")


def each_step(*steps: str) -> pytest.MarkDecorator:
    """A process killed at each step; in ``make test`` at one."""
    marked = [step if step == steps[-3] else pytest.param(step, marks=pytest.mark.exhaustive) for step in steps]
    return pytest.mark.parametrize("step", marked)


def killed_at(path: Path, journal: Path, step: str, code: str = KILLED) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", code, str(path), str(journal), step], check=False, capture_output=True
    )
    assert answer.returncode == -signal.SIGKILL, answer.stderr.decode()


def state(path: Path) -> tuple[str, int]:
    with open_store(path) as store:
        rows = next(store.read_all())
    return rows_hash(rows), len(rows.parts)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[str, int], tuple[str, int]]:
    """What the database's first session is before and after the whole write."""
    folder = tmp_path_factory.mktemp("whole")
    make_store(folder / "opencode.db")
    old = state(folder / "opencode.db")
    subprocess.run(
        [sys.executable, "-c", KILLED, str(folder / "opencode.db"), str(folder / "journal"), "never"],
        check=True,
    )
    return old, state(folder / "opencode.db")


@each_step(*STEPS)
def test_a_killed_write_to_a_database_leaves_the_old_or_the_new_state_and_says_which(
    tmp_path: Path, written, step: str
) -> None:
    path, folder = tmp_path / "opencode.db", tmp_path / "journal"
    make_store(path)
    old, new = written
    killed_at(path, folder, step)

    found = state(path)
    recovered = Journal(folder).recover(open_store)

    assert found == (new if step in ("committed", "told", "marked") else old)
    assert quick_check(path).state == "ok"
    if step in ("before-journal", "told", "marked"):
        assert recovered == []
    else:
        (told,) = recovered
        assert told.state == ("new" if step == "committed" else "old")
        assert f"has the {told.state} state" in told.words
        assert told.entry.state == ("committed" if step == "committed" else "failed")
    assert Journal(folder).recover(open_store) == []


@each_step(*STEPS)
def test_a_killed_undo_is_done_or_can_be_done_again(tmp_path: Path, written, step: str) -> None:
    path, folder = tmp_path / "opencode.db", tmp_path / "journal"
    make_store(path)
    old, new = written
    journal = Journal(folder)
    killed_at(path, folder, "marked")
    (entry,) = journal.entries()
    killed_at(path, folder, step, UNDONE)

    found = state(path)
    (folder / f".{entry.id}.json.0000.tmp").write_text("half an entry")
    told = journal.recover(open_store)

    done = step in ("committed", "told", "marked")
    assert found == (old if done else new)
    assert [one.state for one in told] == ([] if step in ("before-journal", "marked") else ["new"] if done else ["old"])
    assert journal.get(entry.id).state == ("undone" if done else "committed")
    assert {one.state for one in journal.entries()} <= {"committed", "undone", "failed"}
    assert journal.recover(open_store) == []
    assert list(folder.glob(".*")) == []
    if not done:
        with open_store(path) as store:
            store.apply(entry.inverse, journal=journal, about=About(undoes=entry.id))
    assert state(path) == old
    assert journal.get(entry.id).state == "undone"


def test_a_write_that_a_crash_left_done_can_be_undone(tmp_path: Path, written) -> None:
    path, folder = tmp_path / "opencode.db", tmp_path / "journal"
    make_store(path)
    killed_at(path, folder, "committed")
    journal = Journal(folder)
    (told,) = journal.recover(open_store)

    with open_store(path) as store:
        store.apply(told.entry.inverse, journal=journal)

    assert state(path) == written[0]


@each_step(*STEPS)
def test_a_killed_write_to_a_storage_tree_is_put_back_or_done(tmp_path: Path, step: str) -> None:
    path, folder = tmp_path / "storage", tmp_path / "journal"
    with tarfile.open(CORPUS / "compact_ok@1.0.152.storage.tgz") as packed:
        packed.extractall(tmp_path, filter="data")
    shutil.copytree(path, tmp_path / "whole")
    old = state(path)
    files = {file: file.read_bytes() for file in path.rglob("*.json")}
    subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "whole"), str(tmp_path / "other"), "never"], check=True
    )
    new = state(tmp_path / "whole")
    killed_at(path, folder, step)

    recovered = Journal(folder).recover(open_store)

    done = step in ("written", "committed", "told", "marked")
    assert state(path) == (new if done else old)
    if not done:
        assert {file: file.read_bytes() for file in path.rglob("*.json")} == files
    assert [told.state for told in recovered] == (
        [] if step in ("before-journal", "told", "marked") else ["new" if done else "old"]
    )


@each_step(*(step for step in STEPS if not step.startswith("row")))
def test_a_killed_write_to_an_export_leaves_one_whole_file(tmp_path: Path, step: str) -> None:
    path = tmp_path / "session.json"
    shutil.copy(CORPUS / "clean.json", path)
    path.chmod(0o644)
    old = state(path)
    killed_at(path, tmp_path / "journal", step)

    (told,) = Journal(tmp_path / "journal").recover(open_store) or (None,)

    assert (state(path) == old) == (step in ("before-journal", "prepared", "begun"))
    assert told is None or told.state == ("old" if step in ("prepared", "begun") else "new")


def test_rows_that_the_client_changed_after_the_crash_are_told_as_unclear(tmp_path: Path) -> None:
    path, folder = tmp_path / "opencode.db", tmp_path / "journal"
    make_store(path)
    killed_at(path, folder, "prepared")
    from .conftest import run

    run(path, "UPDATE part SET data = 'x'")

    (told,) = Journal(folder).recover(open_store)

    assert told.state == "unclear"
    assert "restore point is kept" in told.words
    assert told.entry.state == "prepared"
