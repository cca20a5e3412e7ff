"""A worker killed with -9 in the middle of a batch, as real processes on a real database."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.client.opencode import ROOT
from tests.client.suture import Suture

from .store import dump, many

pytestmark = pytest.mark.exhaustive

SESSIONS = 1000

START = """
from django.utils import timezone
from sessions_app import tasks
from sessions_app.domain.wish import Wish
from sessions_app.selectors.filters import SessionFilter
from sessions_app.services.bulk import Selection, bulk_start
selection = Selection(filter=SessionFilter(health=("blocked",)))
now = timezone.now()
tasks.job_enqueue(bulk_start(selection=selection, wish=Wish(), reason="", actor="test", face="web", now=now))
"""


class Watched(Suture):
    """With a look into its own database."""

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.data / "suture.db", timeout=20)) as connection:
            return connection.execute(sql).fetchall()

    def repairs(self) -> int:
        [(count,)] = self.ask("SELECT count(*) FROM sessions_app_repair WHERE undoes_id IS NULL AND state = 'applied'")
        return int(str(count))

    def worker(self, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "db_worker", "--interval", "0.1", *options],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@pytest.fixture
def suture(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "data")


def test_a_batch_whose_worker_was_killed_finishes_after_restart_and_is_undone_exactly(
    suture: Watched, tmp_path: Path
) -> None:
    path = many(tmp_path / "opencode.db", {"dup_id_slow": SESSIONS, "clean": 5})
    before = dump(path)
    assert suture.run("import", str(path), timeout=600)[0] == 0
    assert suture.run("shell", "-c", START)[0] == 0

    worker = suture.worker()
    try:
        while suture.repairs() < SESSIONS // 2:
            assert worker.poll() is None, "the worker ended by itself"
            time.sleep(0.02)
    finally:
        worker.kill()
        worker.wait()
    killed_at = suture.repairs()
    [(number, state)] = suture.ask("SELECT public_id, state FROM sessions_app_repairbatch")
    again = suture.worker("--take-over", "--batch")
    assert again.wait(timeout=1200) == 0

    assert killed_at < SESSIONS and state == "running"
    assert suture.ask("SELECT state, done, repaired, failed FROM sessions_app_repairbatch") == [
        ("done", SESSIONS, SESSIONS, 0)
    ]
    assert suture.ask(
        "SELECT count(*), count(DISTINCT session_id) FROM sessions_app_repair WHERE state = 'applied'"
    ) == [(SESSIONS, SESSIONS)]
    assert suture.run("scan", str(path), "--fail-on", "blocked", timeout=600)[0] == 0
    code, out, err = suture.run("bulk-repair", "--undo", str(number), timeout=1200)
    assert code == 0, out + err
    assert dump(path) == before


def test_a_command_that_was_killed_is_resumed(suture: Watched, tmp_path: Path) -> None:
    path = many(tmp_path / "opencode.db", {"dup_id_slow": 30})
    assert suture.run("import", str(path))[0] == 0
    command = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "bulk-repair"],
        env=suture.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while suture.repairs() < 5:
            assert command.poll() is None, "the command ended by itself"
            time.sleep(0.02)
    finally:
        command.kill()
        command.wait()
    [(number,)] = suture.ask("SELECT public_id FROM sessions_app_repairbatch")

    outcome = suture.json("bulk-repair", "--resume", str(number))

    assert (outcome["state"], outcome["repaired"], outcome["failed"]) == ("done", 30, 0)
    assert suture.repairs() == 30
    code, out, err = suture.run("scan", str(path))
    assert code == 0, (
        out + err,
        suture.ask("SELECT public_id, state, session_stored_id, error FROM sessions_app_repair"),
    )
