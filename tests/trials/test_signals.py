"""SIGINT and SIGTERM at each step of every command that writes: the signal's exit code, one line, nothing half done.

A step is each time the process opens, makes, moves or deletes something in the test's folder, and each step of a
guarded write. A few, spread over the whole, are tried; ``SUTURE_TRIALS=all`` tries each.
"""

from __future__ import annotations

import os
import shutil
import signal
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores import open_store
from tests.paths import CORPUS
from tests.trials.surroundings import Ended, suture

pytestmark = pytest.mark.exhaustive

STEPS = 1000 if os.environ.get("SUTURE_TRIALS") == "all" else 5
AT_A_STEP = """
import atexit, os, signal, sys
number, at, folder = int(os.environ["TRIAL_SIGNAL"]), int(os.environ["TRIAL_STEP"]), os.environ["HOME"]
seen = 0

def step():
    global seen
    seen += 1
    if seen == at:
        os.kill(os.getpid(), number)

def hook(event, arguments):
    if event in ("open", "sqlite3.connect") or (event.startswith(("os.", "shutil.")) and event != "os.scandir"):
        if any(isinstance(one, (str, bytes, os.PathLike)) and folder in os.fsdecode(one) for one in arguments):
            step()

import sessions_app.stores.base as base
real = base.Store.apply
base.Store.apply = lambda self, *given, **named: real(self, *given, **named, at=lambda name: step())
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL)
sys.addaudithook(hook)
atexit.register(lambda: open(os.environ["TRIAL_COUNT"], "w").write(str(seen)))
"""


def contents(path: Path) -> list[str]:
    with open_store(path) as store:
        return [rows_hash(rows) for rows in store.read_all()]


@dataclass(frozen=True)
class Trial:
    """``path``: the store that is written, or that a result is made of; ``result``: a new file."""

    path: Path
    command: tuple[object, ...]
    result: Path | None = None


def database(folder: Path) -> Path:
    return Path(shutil.copyfile(CORPUS / "dup_id_slow.db", folder / "opencode.db"))


def _repair_database(folder: Path) -> Trial:
    return Trial(path := database(folder), ("repair", path))


def _repair_export(folder: Path) -> Trial:
    path = Path(shutil.copyfile(CORPUS / "dup_id_slow.json", folder / "session.json"))
    return Trial(path, ("repair", path))


def _repair_tree(folder: Path) -> Trial:
    with tarfile.open(CORPUS / "kill_parallel@1.0.152.storage.tgz") as packed:
        packed.extractall(folder, filter="data")
    return Trial(folder / "storage", ("repair", folder / "storage", "--safety", "lossy"))


def _repair_copy(folder: Path) -> Trial:
    path, result = database(folder), folder / "result.db"
    return Trial(path, ("repair", path, "--output", result), result)


def _patch(folder: Path) -> Trial:
    path, result = database(folder), folder / "result.sql"
    return Trial(path, ("repair", path, "--patch", result), result)


def _hand_back(folder: Path) -> Trial:
    path, result = database(folder), folder / "result.db"
    return Trial(path, ("export", path, "--as", "database", "--output", result), result)


def _undo(folder: Path) -> Trial:
    path = database(folder)
    assert suture(folder, "repair", path).code == 0
    [point] = (folder / "data" / "journal").glob("rep_*.json")
    return Trial(path, ("undo", point.stem))


def _restore(folder: Path) -> Trial:
    path = database(folder)
    assert suture(folder, "repair", path).code == 0
    [backup] = (folder / "data" / "backups").rglob("*.db")
    return Trial(path, ("restore", backup, path))


def _import(folder: Path) -> Trial:
    return Trial(path := database(folder), ("import", path))


def _bulk(folder: Path) -> Trial:
    path = database(folder)
    assert suture(folder, "import", path).code == 0
    return Trial(path, ("bulk-repair",))


COMMANDS: dict[str, Callable[[Path], Trial]] = {
    "repair a database": _repair_database,
    "repair an export": _repair_export,
    "repair a tree": _repair_tree,
    "repair a copy": _repair_copy,
    "write a patch": _patch,
    "hand a database back": _hand_back,
    "undo": _undo,
    "restore": _restore,
    "import": _import,
    "bulk-repair": _bulk,
}


def at_step(folder: Path, command: Sequence[object], step: int, number: int) -> tuple[Ended, int]:
    count = folder.parent / f"count-{folder.name}"
    told = {"TRIAL_SIGNAL": str(number), "TRIAL_STEP": str(step), "TRIAL_COUNT": str(count)}
    done = suture(folder, *command, code=AT_A_STEP, **told)
    return done, int(count.read_text())


def made(folder: Path, name: str) -> Trial:
    folder.mkdir()
    return COMMANDS[name](folder)


def check(folder: Path, trial: Trial, done: Ended, number: signal.Signals, states: list[list[str]]) -> None:
    """What a stopped command leaves."""
    assert done.code == 128 + number, done
    *before, last = done.err.splitlines()
    assert last.startswith(f"suture: stopped by {number.name}"), done.err
    assert [line for line in before if "suture" in line or "Traceback" in line] == [], done.err
    assert contents(trial.path) in states
    left = [path.name for path in folder.rglob("*") if path.name.endswith(".tmp") or ".partial" in path.name]
    left += [path.name for path in folder.rglob(".suture-*")]
    assert left == []
    if trial.result is not None and trial.result.exists() and trial.result.suffix == ".db":
        assert contents(trial.result)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_stopped_leaves_the_old_or_the_new_and_can_be_given_again(tmp_path: Path, name: str) -> None:
    whole = made(tmp_path / "whole", name)
    old = contents(whole.path)
    done, steps = at_step(tmp_path / "whole", whole.command, 0, signal.SIGINT)
    assert done.code == 0, done
    new = contents(whole.path)
    assert steps > 3
    told = 0
    for turn, step in enumerate(range(1, steps + 1, max(1, steps // STEPS))):
        folder, number = tmp_path / f"at-{step}", (signal.SIGINT, signal.SIGTERM)[turn % 2]
        trial = made(folder, name)
        done, reached = at_step(folder, trial.command, step, number)
        if reached < step:
            assert done.code == 0, done
            continue
        told += 1
        check(folder, trial, done, number, [old, new])
        was_done = contents(trial.path) == new
        if trial.result is not None and trial.result.exists():
            continue
        again = suture(folder, *trial.command)
        assert again.code == 0 or (name == "undo" and was_done), (step, again)
        assert contents(trial.path) == new, step
        shutil.rmtree(folder)
    assert told > 2
