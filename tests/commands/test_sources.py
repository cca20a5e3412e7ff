"""import, sync, the worker and serve: the commands that keep a database of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from sessions_app import samples
from sessions_app.domain.wish import Wish
from sessions_app.management.commands.serve import is_loopback
from sessions_app.management.serving import listen
from sessions_app.models import Session, Source
from sessions_app.services.actor import Actor
from sessions_app.services.database import database_is_there
from sessions_app.services.repair.apply import repair_apply
from tests.factories.models import NOW

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sample_db(tmp_path) -> Path:
    return samples.unpack(tmp_path / "native")


@pytest.mark.django_db
def test_import_attaches_and_reads_to_the_end(suture, sample_db):
    run = suture("import", sample_db, "--json")

    (source,) = run.json["sources"]
    assert run.code == 0
    assert source["sessions"] == source["imported"] == Session.objects.count()
    assert source["failed"] == 0


@pytest.mark.django_db
def test_import_of_what_is_no_store_ends_with_code_2(suture, tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Ann,")

    assert suture("import", tmp_path / "letter.txt").code == 2
    assert Source.objects.count() == 0


@pytest.mark.django_db
def test_sync_reads_what_changed(suture, sample_db):
    suture("import", sample_db)
    with sqlite3.connect(sample_db) as connection:
        connection.execute(
            "UPDATE session SET title = 'renamed' , time_updated = time_updated + 1 WHERE id = (SELECT max(id) FROM"
            " session)"
        )
    connection.close()

    run = suture("sync", "--json")

    assert run.json["sources"][0]["read"] == 1
    assert Session.objects.filter(title="renamed").exists()


@pytest.mark.django_db
def test_sync_of_a_path_that_is_not_attached_is_bad_usage(suture, sample_db):
    assert suture("sync", sample_db).code == 2


@pytest.mark.django_db
def test_a_repair_of_the_mirror_is_undone_by_command_and_the_mirror_follows(suture, poisoned):
    suture("import", poisoned)
    session = Session.objects.get()
    repair = repair_apply(session=session, wish=Wish(), actor=Actor(name="ann"), now=NOW)

    run = suture("undo", repair.public_id)

    session.refresh_from_db()
    repair.refresh_from_db()
    assert run.code == 0
    assert (session.health, repair.state) == ("blocked", "undone")


@pytest.mark.django_db
def test_a_database_in_use_is_there():
    assert database_is_there()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("suture.example", False)],
)
def test_only_loopback_is_loopback(host, loopback):
    assert is_loopback(host) is loopback


def test_a_port_that_is_taken_is_told_before_anything_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        with pytest.raises(ValueError, match="cannot be served"):
            listen("127.0.0.1", taken.getsockname()[1])


class Served:
    """A server of its own, on a free port, with its own data directory."""

    def __init__(self, tmp_path: Path, *arguments: str) -> None:
        environment = {
            **os.environ,
            "SUTURE_DATA_DIR": str(tmp_path / "data"),
            "XDG_DATA_HOME": str(tmp_path / "xdg"),
            "HOME": str(tmp_path),
        }
        environment.pop("OPENCODE_DB", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sessions_app", "serve", "--port", "0", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line.startswith("Stop with"):
                break

    def said(self, beginning: str) -> str:
        return next(line.removeprefix(beginning).strip() for line in self.lines if line.startswith(beginning))

    @property
    def url(self) -> str:
        return self.said("Suture is at").rstrip("/")

    def get(self, path: str, **headers: str):
        request = urllib.request.Request(f"{self.url}{path}", headers=headers)
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(40)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def test_serve_shows_samples_lets_the_token_in_imports_and_stops_clean(tmp_path):
    served = Served(tmp_path)
    try:
        assert served.get("/healthz") == (200, "ok\n")
        assert served.get("/readyz")[0] == 200
        assert served.get("/api/v1/sessions")[0] == 401
        token = served.said("API token:")
        for _ in range(150):
            status, body = served.get("/api/v1/sources", Authorization=f"Bearer {token}")
            assert status == 200
            if '"state": "ready"' in body or '"state":"ready"' in body:
                break
            time.sleep(0.2)
        assert "ready" in body, body
        assert served.said("Sign in, once and within 15 minutes:").startswith(f"{served.url}/login/link/")
    finally:
        code = served.stop()

    assert code == 143
    data = tmp_path / "data"
    assert {"suture.db", "secret_key"} <= {path.name for path in data.iterdir()}
    with sqlite3.connect(data / "suture.db") as connection:
        assert connection.execute(
            "SELECT count(*) FROM sessions_app_session WHERE health = 'not-scanned'"
        ).fetchone() == (0,)
    connection.close()


def test_serve_of_what_is_no_store_ends_with_code_2(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Ann,")

    served = Served(tmp_path, str(tmp_path / "letter.txt"))

    assert served.process.wait(30) == 2
    served.process.stdout.close()
    served.process.stderr.close()


def test_output_of_import_is_json_alone(suture, sample_db, db):
    assert json.loads(suture("import", sample_db, "--json").out)["sources"]


@pytest.mark.django_db
def test_a_filter_mistyped_is_bad_usage_and_says_what_was_probably_meant(suture, data_dir):
    for query, told in (("healt=blocked", "did you mean health?"), ("health=blokced", "did you mean blocked?")):
        run = suture("bulk-repair", "--dry-run", "--filter", query)
        assert (run.code, run.out) == (2, "")
        assert told in run.err
