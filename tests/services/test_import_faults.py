"""What goes wrong in one session, or in the middle of the first pass, costs no other session anything and hides no
change of the file."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import DataError
from django.utils import timezone

from sessions_app import samples
from sessions_app.models import ImportJob, Part, Session
from sessions_app.services import importing, jobs, mirrorrows, scanning
from sessions_app.stores.base import StoreError
from sessions_app.stores.sqlite.store import SqliteStore
from tests.factories.models import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def sample_db(tmp_path: Path) -> Path:
    return samples.unpack(tmp_path / "native")


def attach(path: Path) -> ImportJob:
    return importing.source_attach(path=path, actor="ann", now=NOW)[1]


def run(job: ImportJob) -> ImportJob:
    for _ in range(100):
        if not importing.import_run(job_id=job.pk, clock=timezone.now):
            break
    job.refresh_from_db()
    return job


def test_what_changes_while_the_mark_has_to_wait_is_read_again(
    sample_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = attach(sample_db)
    newest = Session.objects.order_by("-time_updated", "-id")[0].stored_id
    real = SqliteStore.mark

    def written_to(self: SqliteStore) -> object:
        monkeypatch.setattr(SqliteStore, "mark", real)
        with sqlite3.connect(sample_db) as connection:
            connection.execute(
                "UPDATE part SET data = json_set(data, '$.said', 'later'), time_updated = time_updated + 1"
                " WHERE id = (SELECT min(id) FROM part WHERE session_id = ?)",
                (newest,),
            )
        connection.close()
        raise StoreError("busy", sample_db, "It is being written to.")

    monkeypatch.setattr(SqliteStore, "mark", written_to)

    assert run(job).state == "done"

    assert Part.objects.filter(session__stored_id=newest, data__contains='"said"').exists()


def test_a_scan_that_the_database_refuses_costs_its_session_only(
    sample_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = attach(sample_db)
    poison = Session.objects.order_by("-time_updated", "-id")[2].stored_id
    real = scanning._findings_write

    def refused(found: list[scanning.Judged]) -> object:
        if any(one.session.stored_id == poison for one in found):
            raise DataError("too long")
        return real(found)

    monkeypatch.setattr(scanning, "_findings_write", refused)

    job = run(job)

    assert (job.state, job.failed, job.done) == ("done", 1, job.total - 1)
    assert Session.objects.get(scanned_at=None).stored_id == poison
    assert "Suture failed" in Session.objects.get(stored_id=poison).error


def test_a_row_that_the_database_refuses_costs_its_session_only(
    sample_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = attach(sample_db)
    poison = Session.objects.order_by("-time_updated", "-id")[2].stored_id
    real = mirrorrows.plain_session

    def refused(store: SqliteStore, stored_id: str) -> object:
        if stored_id == poison:
            raise DataError("too long")
        return real(store, stored_id)

    monkeypatch.setattr(mirrorrows, "plain_session", refused)

    job = run(job)

    assert (job.state, job.failed, job.done) == ("done", 0, job.total), "the long way takes it"


def test_a_job_whose_worker_died_behind_the_first_rows_goes_on(
    sample_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = attach(sample_db)

    def died(*given: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(importing, "_begin", died)
        importing.import_run(job_id=job.pk, clock=timezone.now)
    assert Session.objects.exclude(imported_at=None).count() == importing._FIRST
    later = timezone.now() + jobs.LEASE + timedelta(seconds=1)
    assert [one.pk for one in jobs.jobs_abandoned(ImportJob, later)] == [job.pk]

    job = run(job)

    assert (job.state, job.done, job.failed) == ("done", job.total, 0)
    assert job.total == Session.objects.count()
