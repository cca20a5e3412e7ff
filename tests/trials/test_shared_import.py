"""Two workers at one source on PostgreSQL, as processes; one is killed with a range in hand."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app import tasks
from sessions_app.models import ImportJob, Session, WorkerBeat
from sessions_app.services import importing
from tests.bulk.store import many
from tests.services.test_mirrorrows import imported, kept, twice
from tests.trials.surroundings import ROOT, environment

pytestmark = pytest.mark.django_db(transaction=True)

SESSIONS = 40
WORKER = """
import json, sys, time
from datetime import timedelta
import django
django.setup()
from sessions_app.cli import main
from sessions_app.services import importranges, importshare, jobs, workers

workers.BEAT_SECONDS = 0.5
jobs.LEASE = importranges.LEASE = timedelta(seconds=5)
log, stuck_at = open(sys.argv[1], "a", buffering=1), int(sys.argv[2])
rows_copy, sessions_scan = importshare.rows_copy, importshare.sessions_scan
scans = []

def told(what, sessions):
    log.write(json.dumps([what, [one.stored_id for one in sessions]]) + "\\n")

def copy(**given):
    done = rows_copy(**given)
    told("copied", done.copied)
    return done

def scan(*, sessions, **given):
    scans.append(sessions)
    if len(scans) == stuck_at:
        told("stuck", sessions)
        time.sleep(600)
    time.sleep(0.05)  # so that neither is done before the other has begun
    sessions_scan(sessions=sessions, **given)
    told("scanned", sessions)

importshare.rows_copy, importshare.sessions_scan = copy, scan
sys.exit(main(["db_worker", "--interval", "0.1"]))
"""


class Worker:
    def __init__(self, folder: Path, name: str, stuck_at: int = 0) -> None:
        self.log = folder / f"{name}.log"
        at = connection.settings_dict
        url = f"postgresql://{at['USER']}:{at['PASSWORD']}@/{at['NAME']}?host={at['HOST']}"
        with (folder / f"{name}.out").open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", WORKER, str(self.log), str(stuck_at)],
                env=environment(folder, SUTURE_DATABASE_URL=url, DJANGO_SETTINGS_MODULE="sessions_app.settings"),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def did(self, what: str) -> list[str]:
        lines = map(json.loads, self.log.read_text().splitlines()) if self.log.exists() else ()
        return [one for kind, sessions in lines for one in sessions if kind == what]

    def killed(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def ended(*workers: Worker) -> Iterator[None]:
    try:
        yield
    finally:
        for worker in workers:
            worker.killed()


def until(true: object, *workers: Worker) -> None:
    end = time.monotonic() + 120
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, [worker.log.with_suffix(".out").read_text()[-2000:] for worker in workers]
        time.sleep(0.05)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="several workers want PostgreSQL")
def test_two_workers_share_a_source_and_take_over_what_a_killed_one_had(
    tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.services.importranges.TOGETHER", 2)
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    paths = twice(many(tmp_path / "opencode.db", {"dup_id_slow": SESSIONS // 2, "clean": SESSIONS // 2}), tmp_path)
    alone = kept(imported(paths[0], quick=True))
    source, job = importing.source_attach(path=paths[1], actor="ann", now=timezone.now())
    with monkeypatch.context() as patched:  # shared out in small ranges, before a worker is there
        patched.setattr(importing, "import_share", lambda **given: True)
        importing.import_run(job_id=job.pk, clock=timezone.now)
    first = set(Session.objects.filter(source=source, pending=False).values_list("stored_id", flat=True))

    one, two = Worker(tmp_path, "one", stuck_at=4), Worker(tmp_path, "two")
    with ended(one, two):
        until(lambda: WorkerBeat.objects.count() == 2, one, two)
        tasks.job_enqueue(job)
        until(lambda: one.did("stuck"), one, two)
        one.killed()
        until(lambda: not ImportJob.objects.get(pk=job.pk).active, two)

    job.refresh_from_db()
    assert (job.state, job.done, job.failed, job.total) == ("done", SESSIONS, 0, SESSIONS)
    everything = sorted(Session.objects.filter(source=source).values_list("stored_id", flat=True))
    assert sorted([*one.did("copied"), *two.did("copied"), *first]) == everything, "each once"
    assert sorted([*one.did("scanned"), *two.did("scanned")]) == everything, "each once"
    assert one.did("scanned") and two.did("scanned")
    assert set(one.did("stuck")) <= set(two.did("scanned")), "taken over"
    assert "missed" not in two.log.with_suffix(".out").read_text(), "counting anew beside an import fails nobody"
    shared = kept(source)
    for name, rows in alone.items():
        assert shared[name] == rows, name
