"""An import shared by several workers: what each has in hand, what is told of the whole, how it stops."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from sessions_app import tasks
from sessions_app.models import ImportJob, ImportRange, Session, Source
from sessions_app.services import importing, importranges, importshare, workers
from sessions_app.services.importranges import Progress, hands_wanted, range_end, range_keep, range_take
from sessions_app.services.jobs import LEASE, LeaseLost
from tests.bulk.store import many
from tests.factories.models import NOW

pytestmark = pytest.mark.django_db

SESSIONS = 7


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportJob:
    """Begun, in ranges of two sessions, none in hand."""
    monkeypatch.setattr(importranges, "TOGETHER", 2)
    path = many(tmp_path / "opencode.db", {"dup_id_slow": SESSIONS - 2, "clean": 2})
    made = importing.source_attach(path=path, actor="ann", now=NOW)[1]
    with monkeypatch.context() as patched:
        patched.setattr(importing, "import_share", lambda **given: True)
        importing.import_run(job_id=made.pk, clock=timezone.now)
    made.refresh_from_db()
    return made


def taken(job: ImportJob) -> ImportRange:
    held = range_take(job.pk, timezone.now())
    assert held is not None
    return held


def finished(job: ImportJob, clock=timezone.now) -> ImportJob:
    while importing.import_run(job_id=job.pk, clock=clock):
        pass
    job.refresh_from_db()
    return job


def test_every_session_lies_in_one_range_the_newest_first(job: ImportJob) -> None:
    keys = [key for held in job.ranges.order_by("pk") for key in held.sessions]

    assert keys == list(Session.objects.order_by("-time_updated", "-id").values_list("pk", flat=True))
    assert (job.total, job.ranges.count(), job.done) == (SESSIONS, 4, 0)


def test_no_two_have_one_range_in_hand_and_the_rest_is_done_beside_it(job: ImportJob) -> None:
    held = taken(job)

    assert not importing.import_run(job_id=job.pk, clock=timezone.now), "what is left is in other hands"

    job.refresh_from_db()
    assert (job.state, job.done, list(job.ranges.all())) == ("running", SESSIONS - 2, [held])
    untouched = Session.objects.filter(scanned_at=None).values_list("pk", flat=True)
    assert sorted(untouched) == sorted(held.sessions)


def test_the_range_of_a_dead_worker_is_taken_over_and_the_count_is_right(job: ImportJob) -> None:
    dead = taken(job)
    with job.source.open_store() as store:
        importshare._Share(job, store, timezone.now, 0, 0)._step(dead)  # it never says so
    finished(job)
    assert job.active

    later = timezone.now() + LEASE
    finished(job, lambda: later)

    assert (job.state, job.done, job.failed, job.ranges.count()) == ("done", SESSIONS, 0, 0)
    assert not Session.objects.filter(scanned_at=None).exists()


def test_a_slow_worker_whose_range_was_taken_over_writes_nothing_more(job: ImportJob) -> None:
    slow = taken(job)
    ImportRange.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert taken(job) == slow

    for late in (range_keep, range_end):
        with pytest.raises(LeaseLost):
            late(slow, Progress(done=2), timezone.now())

    job.refresh_from_db()
    assert job.done == 0


def test_a_stop_is_over_when_the_last_worker_has_stopped(job: ImportJob) -> None:
    held = taken(job)
    importing.import_cancel(job=job, actor="ann", now=timezone.now())
    assert job.active, "a worker has some of it in hand"

    assert not importing.import_run(job_id=job.pk, clock=timezone.now)
    job.refresh_from_db()
    source = Source.objects.get()
    assert (job.state, source.state, job.ranges.count()) == ("running", "importing", 4)
    assert range_keep(held, Progress(), timezone.now()), "it is told to stop"
    ImportRange.objects.update(lease_until=None)  # which it does
    finished(job)

    source.refresh_from_db()
    assert (job.state, source.state, job.ranges.count()) == ("cancelled", "ready", 0)
    assert not Session.objects.exclude(scanned_at=None).exists()


def test_a_stop_between_two_chunks_is_over_at_once(job: ImportJob) -> None:
    importing.import_run(job_id=job.pk, clock=timezone.now, seconds=0)

    importing.import_cancel(job=job, actor="ann", now=timezone.now())

    assert (job.state, job.ranges.count()) == ("cancelled", 0)


def test_where_the_file_goes_away_all_stop(job: ImportJob) -> None:
    held = taken(job)
    Path(job.source.path).unlink()

    assert not importing.import_run(job_id=job.pk, clock=timezone.now)

    job.refresh_from_db()
    assert (job.state, job.source.state) == ("failed", "failed")
    with pytest.raises(LeaseLost):
        range_keep(held, Progress(done=1), timezone.now())


def test_as_many_chunks_wait_as_workers_are_free(job: ImportJob, settings) -> None:
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    now = timezone.now()
    taken(job)
    assert hands_wanted(job_id=job.pk, now=now) == 1, "one goes on, whether or not it says that it lives"
    for name in ("a", "b", "c"):
        workers.worker_beat(worker_id=name, now=now)

    for _ in range(2):
        tasks.reap()

    assert hands_wanted(job_id=job.pk, now=now) == 2
    assert DBTaskResult.objects.ready().count() == 2
    for _ in range(3):
        taken(job)
    assert hands_wanted(job_id=job.pk, now=now) == 0, "nothing is left to take"
