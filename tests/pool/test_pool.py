"""Several processes over the sessions of a store: what comes out is what one would have given, whatever ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from sessions_app import pool
from sessions_app.pool import crew, over
from sessions_app.stores import open_store
from sessions_app.stores.base import Store, StoreError
from tests.factories.bigstore import make_store
from tests.paths import CORPUS
from tests.pool import makers

ROOT = Path(__file__).parents[2]
SESSIONS = 12


@pytest.fixture
def store(tmp_path, monkeypatch) -> Iterator[Store]:
    """Twelve sessions, each of which is a chunk."""
    monkeypatch.setattr(pool, "CHUNK", 1)
    make_store(tmp_path / "opencode.db", sessions=SESSIONS)
    with open_store(tmp_path / "opencode.db") as opened:
        yield opened


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def run(store, said) -> Callable[..., list[Any]]:
    def run(maker: Any, settings: Any = None, jobs: int = 2) -> list[Any]:
        lost = lambda session_id, words: (session_id, words)  # noqa: E731
        return list(over(store, store.session_ids(), maker, settings, lost=lost, jobs=jobs, say=said.append))

    return run


def gone(process: int) -> bool:
    """It ended, and within the time that an end may take."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def processes(folder: Path, count: int = 1) -> list[int]:
    """Those that have left a note, once there are ``count``."""
    until = time.monotonic() + 60
    while len(found := list(folder.glob("process *"))) < count:
        assert time.monotonic() < until
        time.sleep(0.01)
    return [int(one.name.split()[1]) for one in found]


def test_what_comes_is_what_one_process_gives_in_the_same_order(store, run):
    alone = run(makers.read, jobs=1)
    told = store.problems[:]
    store.problems.clear()

    shared = run(makers.read, jobs=3)

    assert [line[:3] for line in shared] == [line[:3] for line in alone]
    assert store.problems == told
    assert {line[3] for line in alone} == {os.getpid()}
    assert os.getpid() not in {line[3] for line in shared}


def test_the_processes_load_no_django(run):
    names = {name.split(".")[0] for line in run(makers.loaded) for name in line}

    assert "django" in sys.modules
    assert names & {"django", "structlog", "rich", "pytest", "multiprocessing.resource_tracker"} == set()


@pytest.mark.exhaustive
def test_what_the_function_raises_is_raised_in_its_turn(store):
    ids = store.session_ids()
    results = over(store, ids, makers.fails_at, ids[5], lost=lambda *_: None, jobs=2)

    assert [next(results) for _ in range(5)] == ids[:5]
    with pytest.raises(OSError, match="Input/output error") as raised:
        next(results)
    assert raised.value.filename == "somewhere"


@pytest.mark.exhaustive
def test_what_cannot_be_set_up_is_raised(run):
    with pytest.raises(ValueError, match="cannot be set up"):
        run(makers.never)


@pytest.mark.exhaustive
def test_a_store_that_cannot_be_opened_again_is_raised(store, run):
    store.path.rename(store.path.with_name("away.db"))

    with pytest.raises(StoreError, match="no such file"):
        run(makers.read)


@pytest.mark.exhaustive
def test_a_file_that_takes_the_place_of_the_store_is_not_read(store, run):
    store.path.rename(store.path.with_name("away.db"))
    make_store(store.path, sessions=SESSIONS)

    with pytest.raises(StoreError, match="replaced"):
        run(makers.read)


def test_a_process_that_is_killed_is_said_and_costs_nothing(store, run, said, tmp_path):
    which = store.session_ids()[4]

    assert run(makers.killed_at, (which, tmp_path / "once")) == store.session_ids()
    assert said == [f"{which}: the process that had it in hand was ended by SIGKILL; it is done once more."]


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", [0, 4, SESSIONS - 1])
def test_a_session_that_two_processes_die_of_is_lost_alone(store, run, said, place):
    which = store.session_ids()[place]
    expected: list[Any] = store.session_ids()
    expected[place] = (which, "two processes were ended by SIGKILL over it")

    assert run(makers.killed_at, (which, None)) == expected
    assert len(said) == 1


@pytest.mark.exhaustive
def test_the_rest_of_a_chunk_goes_on_behind_a_lost_session(store, run, monkeypatch):
    monkeypatch.setattr(pool, "CHUNK", 70_000)
    ids = store.session_ids()

    results = run(makers.killed_at, (ids[1], None))

    assert [one if isinstance(one, str) else one[0] for one in results] == ids
    assert isinstance(results[1], tuple)


@pytest.mark.exhaustive
def test_processes_that_do_not_get_to_work_leave_it_to_this_one(store, run, said):
    assert run(makers.exits, os.getpid()) == store.session_ids()
    assert said == ["A process was ended with code 7 before it began; it goes on with fewer."] * 2


def test_where_the_system_gives_no_process_this_one_does_it(store, run, said, monkeypatch):
    def refused(*_: Any, **__: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(crew.subprocess, "Popen", refused)

    assert [line[3] for line in run(makers.read)] == [os.getpid()] * SESSIONS
    assert len(said) == 2


@pytest.mark.exhaustive
def test_only_a_few_chunks_are_ahead_and_closing_ends_all(store, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    results = over(store, store.session_ids(), makers.notes, folder, lost=lambda *_: None, jobs=2)
    next(results)
    working = processes(folder, 2)
    time.sleep(0.3)
    begun = len(list(folder.glob("session *")))
    results.close()  # type: ignore[attr-defined]

    assert begun <= 2 * crew.AHEAD
    assert all(gone(process) for process in working)


@pytest.mark.exhaustive
def test_the_processes_end_with_this_one(store, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    begin = (
        "import sys; from sessions_app import pool, stores; from tests.pool import makers; from pathlib import Path;"
        "pool.CHUNK = 1; store = stores.open_store(sys.argv[1]);"
        "list(pool.over(store, store.session_ids(), makers.sleeps, Path(sys.argv[2]), lost=print, jobs=2))"
    )
    process = subprocess.Popen([sys.executable, "-c", begin, str(store.path), str(folder)], cwd=ROOT)
    working = processes(folder, 2)
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert all(gone(one) for one in working)


class TestHowMany:
    def test_little_is_done_by_this_process(self, store, run, monkeypatch):
        monkeypatch.setattr(pool, "SMALL", 10**9)

        assert {line[3] for line in run(makers.read, jobs=0)} == {os.getpid()}

    def test_as_many_as_the_environment_says(self, store, run, monkeypatch):
        monkeypatch.setattr(pool, "SMALL", 1)
        monkeypatch.setenv("SUTURE_JOBS", "1")

        assert {line[3] for line in run(makers.read, jobs=0)} == {os.getpid()}

    @pytest.mark.parametrize("words", ["two", "-1", "1.5"])
    def test_what_is_no_number_is_said(self, store, run, monkeypatch, words):
        monkeypatch.setenv("SUTURE_JOBS", words)

        with pytest.raises(ImproperlyConfigured, match="SUTURE_JOBS"):
            run(makers.read, jobs=0)

    @pytest.mark.parametrize(
        ("groups", "quota", "found"),
        [
            ("0::/\n", "max 100000", 8),
            ("0::/\n", "200000 100000", 2),
            ("1:cpu:/old\n0::/system.slice/suture.service\n", "20000 100000", 1),
            ("9:name=systemd:/\n", None, 8),
        ],
    )
    def test_a_quota_pays_for_fewer(self, monkeypatch, tmp_path, groups, quota, found):
        monkeypatch.setattr(os, "process_cpu_count", lambda: 8)
        monkeypatch.setattr(pool, "_CGROUPS", tmp_path / "cgroup")
        monkeypatch.setattr(pool, "_CGROUP", tmp_path)
        (tmp_path / "cgroup").write_text(groups)
        place = tmp_path / groups.splitlines()[-1].partition("::")[2].strip("/")
        place.mkdir(parents=True, exist_ok=True)
        if quota is not None:
            (place / "cpu.max").write_text(quota)

        assert pool.cores() == found

    def test_an_export_is_read_by_this_process(self):
        with open_store(CORPUS / "clean.json") as opened:
            ids = opened.session_ids()
            lines = list(over(opened, ids, makers.read, None, lost=lambda *_: (), jobs=2))

        assert {line[3] for line in lines} == {os.getpid()}
