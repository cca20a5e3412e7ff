"""PostgreSQL restarted while two workers share its jobs: every session is repaired once, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.bulk.store import dump, many
from tests.bulk.test_killed import START
from tests.trials.surroundings import ROOT, environment, suture

pytestmark = pytest.mark.exhaustive

SESSIONS = 20
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
WORKER = """
import sys
from datetime import timedelta
import django
django.setup()
from sessions_app import tasks
from sessions_app.cli import main
from sessions_app.services import jobs, workers
workers.BEAT_SECONDS = 1.0
jobs.LEASE = timedelta(seconds=10)
jobs.PATIENCE = timedelta(seconds=15)
tasks.SILENCE = timedelta(seconds=5)
sys.exit(main(["db_worker", "--interval", "0.1"]))
"""


class Cluster:
    """A PostgreSQL of this test's own, on a socket in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, PROGRAMS[-1].parent
        data = self.folder / "data"
        self.run("initdb", "-D", data, "--auth=trust", "--username=suture", "--encoding=UTF8", "--no-sync")
        self.start()
        self.run("createdb", "-h", self.folder, "-U", "suture", "suture")

    @property
    def url(self) -> str:
        return f"postgresql://suture@/suture?host={self.folder}"

    def run(self, program: str, *arguments: object) -> None:
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        command = [str(self.programs / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=60, **user)  # type: ignore[call-overload]

    def control(self, *arguments: str) -> None:
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-s", *arguments)

    def start(self) -> None:
        self.control("-l", str(self.folder / "log"), "-o", f"-k {self.folder} -h '' -F", "start")

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        try:
            with psycopg.connect(f"host={self.folder} user=suture dbname=suture") as connection:
                return connection.execute(sql).fetchall()  # type: ignore[arg-type]
        except psycopg.OperationalError:
            return []


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if not PROGRAMS:
        pytest.skip("PostgreSQL's server is not installed")
    with TemporaryDirectory(prefix="suture-pg-", dir="/tmp") as name:
        if os.getuid() == 0:
            shutil.chown(name, "postgres")
        made = Cluster(Path(name))
        try:
            yield made
        finally:
            made.control("-m", "immediate", "stop")


class Workers:
    """Two, each started again when it ends, as ``serve`` or a supervisor does."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.log = (folder / "workers.log").open("w")
        self.running = [self.start(), self.start()]
        self.again = 0

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env=environment(self.folder, SUTURE_DATABASE_URL=self.url, DJANGO_SETTINGS_MODULE="sessions_app.settings"),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            text=True,
        )

    def watched(self) -> None:
        for place, worker in enumerate(self.running):
            if worker.poll() is not None:
                self.again += 1
                self.running[place] = self.start()
        time.sleep(0.2)

    def end(self) -> None:
        for worker in self.running:
            worker.kill()
            worker.wait()
        self.log.close()


@contextmanager
def two_workers(folder: Path, url: str) -> Iterator[Workers]:
    workers = Workers(folder, url)
    try:
        yield workers
    finally:
        workers.end()


def test_two_workers_and_a_restart_repair_each_session_once(tmp_path: Path, cluster: Cluster) -> None:
    path = many(tmp_path / "opencode.db", {"dup_id_slow": SESSIONS})
    before = dump(path)
    assert suture(tmp_path, "import", path, SUTURE_DATABASE_URL=cluster.url).code == 0
    assert suture(tmp_path, "shell", "-c", START, SUTURE_DATABASE_URL=cluster.url).code == 0
    done = "SELECT count(*) FROM sessions_app_repair WHERE state = 'applied'"
    state = "SELECT state, done, repaired, failed FROM sessions_app_repairbatch"

    with two_workers(tmp_path, cluster.url) as workers:
        restarts = 0
        end = time.monotonic() + 600
        while cluster.ask(state)[:1] != [("done", SESSIONS, SESSIONS, 0)] and time.monotonic() < end:
            [(count,)] = cluster.ask(done) or [(0,)]
            if int(str(count)) > 3 * (restarts + 1) and restarts < 2:
                cluster.control("-m", ("fast", "immediate")[restarts], "stop")
                down = suture(tmp_path, "bulk-repair", "--dry-run", SUTURE_DATABASE_URL=cluster.url)
                assert (down.code, "Traceback" in down.err) == (1, False), down.err
                assert "own database" in down.err
                cluster.start()
                restarts += 1
            workers.watched()
        log = (tmp_path / "workers.log").read_text()

    assert restarts == 2
    assert cluster.ask(state) == [("done", SESSIONS, SESSIONS, 0)], log[-3000:]
    assert cluster.ask("SELECT count(DISTINCT session_id) FROM sessions_app_repair WHERE state = 'applied'") == [
        (SESSIONS,)
    ]
    assert cluster.ask("SELECT count(*) FROM sessions_app_repair WHERE state = 'planned'") == [(0,)]
    assert suture(tmp_path, "scan", path).code == 0
    [(number,)] = cluster.ask("SELECT public_id FROM sessions_app_repairbatch")
    back = suture(tmp_path, "bulk-repair", "--undo", number, SUTURE_DATABASE_URL=cluster.url)
    assert back.code == 0, back
    assert dump(path) == before
