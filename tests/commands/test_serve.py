"""``suture serve``: one a data directory, nothing left of a killed one, and an address that answers."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db.utils import OperationalError

from sessions_app.management import browser
from sessions_app.management.commands import serve
from sessions_app.management.commands.db_worker import Command as Worker
from sessions_app.management.commands.serve import address, is_loopback
from sessions_app.management.locks import Served, serve_lock, served_by, work_lock
from sessions_app.management.serving import listen
from tests.factories.serving import ROOT, Serving, alive, children, until
from tests.paths import CORPUS

process_long = pytest.mark.exhaustive


def test_one_serve_has_a_data_directory_and_tells_the_others_where_it_is(tmp_path):
    with serve_lock(tmp_path) as first, serve_lock(tmp_path) as second:
        assert first is not None and second is None
        assert served_by(tmp_path, patience=0) == Served(os.getpid())
        first.tell(Served(os.getpid(), "http://127.0.0.1:8000", True))
        assert served_by(tmp_path, patience=0).url == "http://127.0.0.1:8000"
    with serve_lock(tmp_path) as third:
        assert third is not None
        assert served_by(tmp_path, patience=0).url == ""


def test_nobody_works_alone_where_another_works(tmp_path):
    with work_lock(tmp_path, patience=0) as first:
        assert first.alone
        first.share()
        with work_lock(tmp_path, patience=0.1) as second:
            assert not second.alone
    with work_lock(tmp_path, patience=0) as third:
        assert third.alone


def test_one_that_works_alone_waits_for_what_is_ending(tmp_path):
    line, held = os.pipe()
    hold = (
        "import fcntl, os, sys, time; fcntl.flock(int(sys.argv[1]), fcntl.LOCK_SH); os.close(int(sys.argv[2]))\n"
        "time.sleep(0.5)"
    )
    with (tmp_path / "work.lock").open("w") as lock:
        number = lock.fileno()
        ending = subprocess.Popen([sys.executable, "-c", hold, str(number), str(held)], pass_fds=(number, held))
        os.close(held)
        os.read(line, 1)
        os.close(line)
    with work_lock(tmp_path, patience=20) as work:
        assert work.alone
    ending.wait()


def test_a_second_serve_is_refused_in_a_line_while_the_first_one_starts(suture, data_dir, monkeypatch):
    monkeypatch.setattr(serve, "_STARTING_SECONDS", 0.0)
    with serve_lock(data_dir):
        run = suture("serve", "--port", "0")

    assert (run.code, run.out) == (1, "")
    assert re.fullmatch(rf"Another suture serve \(process {os.getpid()}\) is starting with .*; try again .*\n", run.err)


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


@pytest.mark.parametrize(
    ("host", "allowed", "url"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1"], "http://127.0.0.1:80"),
        ("0.0.0.0", ["localhost", "127.0.0.1"], "http://127.0.0.1:80"),
        ("::", ["[::1]"], "http://[::1]:80"),
        ("::1", ["[::1]"], "http://[::1]:80"),
        ("0.0.0.0", [".example.org", "suture.example.org"], "http://suture.example.org:80"),
        ("10.0.0.1", ["suture.example.org"], "http://suture.example.org:80"),
    ],
)
def test_the_printed_address_has_a_name_that_is_let_in(settings, host, allowed, url):
    settings.ALLOWED_HOSTS = allowed
    assert address(host, 80) == url


def test_a_child_ends_when_the_other_end_of_its_pipe_is_closed():
    line, held = os.pipe()
    watching = "from sessions_app.management import lifeline; import time; lifeline.watch(); print(1, flush=True)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{watching}time.sleep(60)"],
        env={**os.environ, "SUTURE_LIFELINE": str(line)},
        pass_fds=(line,),
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    with child, child.stdout as told:
        assert told.readline()
        assert child.poll() is None
        os.close(held)
        assert child.wait(20) == 1
    os.close(line)


def test_a_worker_whose_database_is_gone_says_so_in_a_line(data_dir, monkeypatch):
    def gone(**beat: object) -> None:
        raise OperationalError("connection is bad: no such socket\n\tIs the server running?")

    monkeypatch.setattr("sessions_app.services.workers.worker_beat", gone)
    with pytest.raises(CommandError) as ended:
        Worker().handle(worker_id="w")

    assert str(ended.value) == ("The worker ends, the database does not answer: connection is bad: no such socket")


def test_the_browser_gets_a_file_that_only_its_owner_reads_not_the_link(tmp_path, monkeypatch):
    link = "http://127.0.0.1:8000/login/link/a-secret"
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$*" > {opened}\n')
    script.chmod(0o700)
    monkeypatch.setattr("webbrowser._tryorder", None)
    monkeypatch.setattr("webbrowser._browsers", {})
    monkeypatch.setenv("BROWSER", str(script))

    assert browser.browser_open(link, through=tmp_path / "open.html")

    assert opened.read_text() == (tmp_path / "open.html").as_uri()
    assert f"url={link}" in (tmp_path / "open.html").read_text()
    assert stat.S_IMODE((tmp_path / "open.html").stat().st_mode) == 0o600


def test_serve_shows_samples_lets_the_token_in_imports_and_stops_clean(tmp_path):
    with Serving(tmp_path) as served:
        served.answering()
        assert served.get("/healthz") == (200, "ok\n")
        assert served.get("/api/v1/sessions")[0] == 401
        token = served.said("API token:")

        def sources() -> str:
            status, body = served.get("/api/v1/sources", Authorization=f"Bearer {token}")
            assert status == 200
            return body.replace(" ", "")

        until(lambda: '"state":"ready"' in sources())
        assert '"state":"ready"' in sources()
        assert served.said("Sign in, once and within 15 minutes:").startswith(f"{served.url}/login/link/")
        assert served.ended(signal.SIGTERM) == 143

    with sqlite3.connect(served.data / "suture.db") as connection:
        waiting = "SELECT count(*) FROM sessions_app_session WHERE health = 'not-scanned'"
        assert connection.execute(waiting).fetchone() == (0,)
    connection.close()


@process_long
def test_serve_of_what_is_no_store_ends_with_code_2(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Ann,")
    with Serving(tmp_path, str(tmp_path / "letter.txt")) as served:
        assert served.process.wait(60) == 2


@process_long
@pytest.mark.parametrize("after", [0.0, 0.5, 1.5])
def test_nothing_is_left_of_a_killed_serve_and_a_restart_works_at_once(tmp_path, after):
    with Serving(tmp_path) as killed:
        killed.started()
        time.sleep(after)
        family = children(killed.process.pid)
        killed.process.kill()
        killed.process.wait()
        port = killed.port
        assert until(lambda: not any(map(alive, family)), seconds=2) < 2
    with Serving(tmp_path, port=port) as again:
        assert again.answering().port == port


@process_long
def test_all_processes_of_serve_end_with_it_once_they_work_and_the_next_one_need_not_wait(tmp_path):
    with Serving(tmp_path) as killed:
        family = children(killed.answering().process.pid)
        assert len(family) == 4  # gunicorn and its two, the worker
        killed.process.kill()
        killed.process.wait()
        with Serving(tmp_path, port=killed.port) as again:
            assert again.answering().port == killed.port
        assert not any(map(alive, family))


@process_long
def test_a_second_serve_joins_and_the_first_ones_token_still_opens(tmp_path):
    with Serving(tmp_path) as first:
        token = first.answering().said("API token:")
        with Serving(tmp_path, str(CORPUS / "clean.db")) as second:
            assert second.process.wait(60) == 0
            assert second.url == first.url
            assert f"process {first.process.pid}" in second.err.read_text()
            link = second.said("Sign in, once and within 15 minutes:")
            assert "API token" not in second.out.read_text()
        status, body = first.get("/api/v1/sources", Authorization=f"Bearer {token}")
        assert status == 200 and "clean.db" in body
        assert first.get(link.removeprefix(first.url))[0] == 200


@process_long
def test_a_worker_of_its_own_keeps_a_later_serve_from_taking_over(tmp_path):
    with Serving(tmp_path, "--no-worker") as web:
        web.started()
        environment = {**os.environ, "SUTURE_DATA_DIR": str(web.data)}
        worker = subprocess.Popen([sys.executable, "-m", "sessions_app", "db_worker"], cwd=ROOT, env=environment)
        try:
            web.answering()
            web.ended(signal.SIGTERM)
            with work_lock(web.data, patience=0) as work:
                assert not work.alone
        finally:
            worker.kill()
            worker.wait()
        with work_lock(web.data, patience=0) as work:
            assert work.alone


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


STAGES = {
    "settings": lambda served: (served.data).is_dir(),
    "lock": lambda served: (served.data / "serve.lock").exists(),
    "database": lambda served: (served.data / "suture.db").exists(),
    "tables": lambda served: size(served.data / "suture.db") + size(served.data / "suture.db-wal") > 200_000,
    "address": lambda served: "Suture is at" in served.out.read_text(),
    "token": lambda served: "Stop with" in served.out.read_text(),
    "children": lambda served: len(children(served.process.pid)) > 1,
    "answering": lambda served: served.answering(),
}


@process_long
@pytest.mark.parametrize(
    ("stage", "number", "code"),
    [
        *((stage, signal.SIGINT, 130) for stage in STAGES),
        *((stage, signal.SIGTERM, 143) for stage in STAGES),
        ("answering", signal.SIGHUP, 129),
    ],
)
def test_a_signal_at_any_stage_ends_it_with_one_line_and_its_code(tmp_path, stage, number, code):
    with Serving(tmp_path) as served:
        until(lambda: STAGES[stage](served) or served.process.poll() is not None)
        family = children(served.process.pid)

        assert served.ended(number) == code

        assert served.err.read_text() == f"suture: stopped by {number.name}\n"
        assert not any(map(alive, family))
    database = served.data / "suture.db"
    if database.exists():
        with sqlite3.connect(database) as opened:
            assert opened.execute("PRAGMA quick_check").fetchone() == ("ok",)
        opened.close()


@process_long
def test_what_a_signal_left_early_is_completed_by_the_next_start(tmp_path):
    for _ in range(3):
        with Serving(tmp_path) as served:
            until(lambda served=served: (served.data / "suture.db").exists())
            served.ended(signal.SIGINT)
    with Serving(tmp_path) as last:
        last.answering()


@process_long
@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.2", socket.gethostbyname(socket.gethostname())])
def test_the_printed_address_answers(tmp_path, host):
    with Serving(tmp_path, "--host", host) as served:
        served.started()
        until(lambda: served.get("/healthz")[0])
        assert served.get("/healthz") == (200, "ok\n")


@process_long
def test_open_opens_the_browser(tmp_path):
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$*" > {tmp_path}/opened\n')
    script.chmod(0o700)
    with Serving(tmp_path, "--open", BROWSER=str(script)) as served:
        served.started()
        assert until((tmp_path / "opened").exists) < 60
        page = Path(served.data / "open.html").read_text()
        assert served.said("Sign in, once and within 15 minutes:") in page
