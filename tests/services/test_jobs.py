"""One kind of job: lost workers, slow ones, cancels and faults, the same for imports, batches and summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from sessions_app import samples, tasks
from sessions_app.domain.wish import Wish
from sessions_app.models import Compaction, ImportJob, Job, RepairBatch, Session
from sessions_app.selectors.filters import SessionFilter
from sessions_app.services import bulkrun, importshare, jobs
from sessions_app.services.actor import Actor
from sessions_app.services.bulk import Selection, bulk_start
from sessions_app.services.compacting import compaction_run, compaction_start
from sessions_app.services.importing import import_cancel, import_run, source_attach
from tests.bulk.store import many
from tests.factories.corpus import NOW, attached, session_of
from tests.providers.scripted import Answer, chat_end, chat_text, scripted

pytestmark = pytest.mark.django_db

type Made = tuple[Job, Callable[[], bool]]
"""A job, and a chunk of it."""


@pytest.fixture
def imported(tmp_path: Path) -> Made:
    job = source_attach(path=samples.unpack(tmp_path / "native"), actor="ann", now=NOW)[1]
    return job, lambda: import_run(job_id=job.pk, clock=timezone.now, seconds=0)


@pytest.fixture
def repaired(tmp_path: Path) -> Made:
    attached(many(tmp_path / "opencode.db", {"dup_id_slow": 3}))
    everything = Selection(filter=SessionFilter())
    batch = bulk_start(selection=everything, wish=Wish(), reason="", actor="ann", face="web", now=NOW)
    return batch, lambda: bulkrun.bulk_run(job_id=batch.pk, clock=timezone.now, seconds=0)


@pytest.fixture
def summarised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    session = session_of("dup_id_slow", tmp_path)
    with scripted(*[Answer((*chat_text("so far"), *chat_end("stop")))] * 40) as served:
        monkeypatch.setenv("SUTURE_PROVIDER_FAKE_URL", f"{served.url}/v1")
        monkeypatch.setenv("SUTURE_PROVIDER_FAKE_KEY", "secret-key")
        monkeypatch.setenv("SUTURE_PROVIDER_FAKE_CONTEXT", "128000")
        job = compaction_start(session=session, actor=Actor("ann"), now=NOW)
        Compaction.objects.filter(pk=job.pk).update(chunk=job.total // 3)
        yield job, lambda: compaction_run(job_id=job.pk, clock=timezone.now)


KINDS = pytest.mark.parametrize("kind", ["imported", "repaired", "summarised"])
ENDED = {ImportJob: "done", RepairBatch: "done", Compaction: "ready"}


@pytest.fixture
def made(kind: str, request: pytest.FixtureRequest) -> Made:
    found: Made = request.getfixturevalue(kind)
    return found


def pass_by(job: Job, time: timedelta) -> None:
    """Let the time pass for a job."""
    job.refresh_from_db()
    for name in ("lease_until", "heartbeat_at", "created_at"):
        setattr(job, name, getattr(job, name) and getattr(job, name) - time)
    job.save()


@KINDS
def test_a_job_that_lost_its_worker_between_two_chunks_is_taken_up_by_the_periodic_look(
    made: Made, django_capture_on_commit_callbacks: Any
) -> None:
    job, chunk = made
    assert chunk(), "there is more to do, and nobody enqueues it"
    with django_capture_on_commit_callbacks() as none:
        tasks.reap()
    assert none == [], "its next chunk may be in the queue"

    pass_by(job, jobs.LEASE)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.reap()

    job.refresh_from_db()
    assert (job.state, job.percent) == (ENDED[type(job)], 100)
    assert job.lease_until is None and job.finished_at


@KINDS
def test_a_job_whose_task_was_lost_is_taken_up_after_a_while(
    made: Made, django_capture_on_commit_callbacks: Any
) -> None:
    job, _ = made
    job.created_at = timezone.now()
    job.save()
    pass_by(job, jobs.PATIENCE)

    with django_capture_on_commit_callbacks() as taken:
        tasks.reap()
        tasks.reap()

    assert len(taken) == 1


@KINDS
def test_a_job_in_hand_is_nobody_elses_until_its_lease_runs_out(made: Made) -> None:
    job, chunk = made
    now = timezone.now()
    type(job)._default_manager.filter(pk=job.pk).update(state="running", lease_until=now + jobs.LEASE, heartbeat_at=now)

    assert not chunk()
    assert jobs.jobs_abandoned(type(job), now) == []
    assert jobs.jobs_abandoned(type(job), now + jobs.LEASE) == [job]
    assert chunk()


def test_a_worker_that_was_too_slow_stops_and_leaves_the_progress_to_the_next(
    repaired: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, _ = repaired
    real = bulkrun.repair_apply

    def slow(**options: Any) -> Any:
        monkeypatch.setattr(bulkrun, "repair_apply", real)
        made = real(**options)
        pass_by(batch, jobs.LEASE)
        while bulkrun.bulk_run(job_id=batch.pk, clock=timezone.now):
            pass
        return made

    monkeypatch.setattr(bulkrun, "repair_apply", slow)
    assert not bulkrun.bulk_run(job_id=batch.pk, clock=timezone.now)

    ended = RepairBatch.objects.get(pk=batch.pk)
    assert (ended.state, ended.done, ended.repaired, len(ended.results)) == ("done", 3, 3, 3)


def test_an_import_that_nobody_has_in_hand_is_cancelled_at_once(imported: Made) -> None:
    job, _ = imported
    assert isinstance(job, ImportJob)

    import_cancel(job=job, actor="ann", now=NOW)

    job.source.refresh_from_db()
    assert (job.state, job.source.state) == ("cancelled", "ready")


def test_a_fault_of_ours_ends_the_job_instead_of_coming_again_for_ever(
    imported: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, chunk = imported
    assert isinstance(job, ImportJob)

    def broken(**options: Any) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(importshare, "rows_copy", broken)
    assert not chunk()

    job = ImportJob.objects.select_related("source").get(pk=job.pk)
    assert (job.state, job.source.state) == ("failed", "failed")
    assert "see the log" in job.error == job.source.error
    assert Session.objects.filter(pending=True).exists()
