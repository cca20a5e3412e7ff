"""``suture scan`` with several processes: the same bytes as with one, and an end when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sessions_app import pool
from sessions_app.management.commands import scan
from sessions_app.services.filescan import Scanned
from sessions_app.stores import open_store
from tests.pool import makers
from tests.pool.test_pool import ROOT, gone, processes

STOPPED = """
import sys
from pathlib import Path
from sessions_app import pool
from sessions_app.cli import main
from sessions_app.management.commands import scan
from tests.pool import makers
pool.CHUNK = 1
folder = Path(sys.argv[2])
def over(store, ids, maker, settings, **more):
    return pool.over(store, ids, makers.sleeps, folder, **more)
scan.over = over
sys.exit(main(["scan", sys.argv[1], "--jobs", "2", *sys.argv[3:]]))
"""


FORKED = """
import subprocess, sys
from sessions_app import pool
from sessions_app.cli import main
subprocess.Popen = None
pool.CHUNK = pool.SMALL = 1
sys.exit(main(["scan", sys.argv[1], "--jobs", "3", *sys.argv[2:]]))
"""
"""No process but a forked one can be started."""


def stored_ids(path: Path) -> list[str]:
    with open_store(path) as store:
        return store.session_ids()


@pytest.mark.parametrize(
    "form", [(), pytest.param(("--all", "--color", "always"), marks=pytest.mark.exhaustive), ("--json",), ("--ndjson",)]
)
def test_every_form_is_byte_for_byte_what_one_process_writes(suture, several, form):
    alone = suture("scan", several, "--jobs", 1, *form)

    assert suture("scan", several, "--jobs", 3, *form) == alone
    assert alone.code == 1


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
@pytest.mark.parametrize("form", [("--json",), pytest.param(("--ndjson",), marks=pytest.mark.exhaustive)])
def test_forked_processes_write_the_same(suture, tmp_path, several, form):
    environment = {**os.environ, "SUTURE_DATA_DIR": str(tmp_path / "data")}
    begin = [sys.executable, "-c", FORKED, str(several), *form]
    process = subprocess.run(begin, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    alone = suture("scan", several, "--jobs", 1, *form)

    assert (process.returncode, process.stdout, process.stderr) == (alone.code, alone.out, alone.err)


@pytest.mark.exhaustive
def test_a_session_that_is_named_and_not_there_is_an_error(suture, several):
    first, second, *_ = stored_ids(several)
    named = ("--session", first, "--session", "ses_none", "--session", second)

    run = suture("scan", several, "--jobs", 2, *named)

    assert run == suture("scan", several, "--jobs", 1, *named)
    assert (run.code, run.out) == (2, "")


@pytest.mark.exhaustive
def test_a_session_that_processes_die_of_is_unreadable(suture, several, monkeypatch):
    """The others are scanned by nobody here: this is about the words."""
    which = stored_ids(several)[1]
    real = pool.over

    def over(store, ids, maker, settings, **more):
        killing = real(store, ids, makers.killed_at, (which, None), **more)
        return (one if isinstance(one, Scanned) else Scanned("healthy") for one in killing)

    monkeypatch.setattr(scan, "over", over)
    run = suture("scan", several, "--jobs", 2)

    words = "Suture failed on this session (two processes were ended by SIGKILL over it)"
    assert run.code == 1
    assert f"{which}: {words}" in run.err
    assert "6 sessions: 1 unreadable, 5 healthy" in run.out


@pytest.mark.parametrize("said", ["0", "-1", "many"])
def test_a_number_of_processes_that_is_none_is_bad_usage(suture, several, said):
    run = suture("scan", several, f"--jobs={said}")

    assert (run.code, run.out) == (2, "")
    assert "no number of processes" in run.err


@pytest.mark.exhaustive
@pytest.mark.parametrize("begin", [STOPPED, STOPPED.replace("CHUNK = 1", "CHUNK = pool.SMALL = 1")])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_ends_it_at_once_and_leaves_no_process(tmp_path, several, number, code, begin):
    folder = tmp_path / "notes"
    folder.mkdir()
    command = [sys.executable, "-c", begin, str(several), str(folder), "--ndjson"]
    environment = {**os.environ, "SUTURE_DATA_DIR": str(tmp_path / "data")}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    working = processes(folder, 2)
    process.send_signal(number)
    _, words = process.communicate(timeout=10)

    said = f"suture: stopped by {signal.Signals(number).name}\n" if code > 0 else ""
    assert (process.returncode, words) == (code, said)
    assert all(gone(one) for one in working)
