"""A process that dies, or is stopped, at each step of an import or of a deletion: it goes on, and no session is ever
shown with half of its rows or with findings of other rows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app.models import ImportJob, Message, Part, Session, Source
from sessions_app.services import (
    importing,
    importranges,
    importshare,
    mirror,
    mirrorrows,
    purging,
    reading,
    scanning,
    uploading,
)
from sessions_app.services.importing import import_run, source_attach, source_delete, source_sync
from sessions_app.services.jobs import LEASE, jobs_abandoned
from sessions_app.services.pruning import keeping_prune
from tests.bulk.store import many
from tests.factories.killing import Killed
from tests.paths import CORPUS
from tests.stores.conftest import run

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = [
    (importing, "_begin"),
    (importing, "job_keep"),
    (importing, "rows_copy"),
    (importing, "ranges_make"),
    (importshare, "store_facts"),
    (importshare, "range_keep"),
    (importshare, "range_end"),
    (importshare, "rows_copy"),
    (mirrorrows, "projects_write"),
    (mirrorrows, "rows_insert"),
    (mirrorrows, "sessions_update"),
    (importshare, "sessions_scan"),
    (scanning, "_findings_write"),
    (scanning, "sessions_update"),
    (importshare, "sessions_update"),
    (importranges, "job_finish"),
    (importranges, "source_counters_update"),
]


def whole() -> bool:
    """Every session that is shown as read has all of its rows, and findings of these rows or none yet."""
    return all(
        Part.objects.filter(session=session).count() == session.part_count
        and Message.objects.filter(session=session).count() == session.message_count
        and (session.scan_is_current or (session.health == "not-scanned" and not session.findings.exists()))
        for session in Session.objects.exclude(imported_at=None)
    )


@pytest.mark.parametrize("ended", [Killed, KeyboardInterrupt])
@pytest.mark.parametrize("time", [1, pytest.param(2, marks=pytest.mark.exhaustive), 4])
@pytest.mark.parametrize("place", STEPS, ids=lambda place: place[1])
def test_an_import_goes_on_where_it_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place, time, ended) -> None:
    path = many(tmp_path / "opencode.db", {"dup_id_slow": 2, "clean": 1})
    source, job = source_attach(path=path, actor="ann", now=timezone.now())
    dies(monkeypatch, place, time, ended, job)

    assert whole()
    later = timezone.now() if ended is KeyboardInterrupt else timezone.now() + LEASE
    jobs_abandoned(ImportJob, later)
    while import_run(job_id=job.pk, clock=lambda: later):
        pass
    job.refresh_from_db()
    source.refresh_from_db()
    assert (job.state, job.percent, source.sessions_imported) == ("done", 100, 3)
    assert whole()
    assert sorted(Session.objects.values_list("health", flat=True)) == ["blocked", "blocked", "healthy"]


@pytest.mark.parametrize("place", [(reading, "session_write"), (mirror, "_sync"), (reading, "scan_write")])
def test_a_sync_that_dies_leaves_old_rows_with_old_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place
) -> None:
    path = many(tmp_path / "opencode.db", {"dup_id_slow": 1})
    source, job = source_attach(path=path, actor="ann", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    run(path, "DELETE FROM part WHERE data LIKE '%\"tool\"%'")
    run(path, "UPDATE session SET time_updated = time_updated + 1")
    sync = source_sync(source=source, actor="ann", now=timezone.now())

    dies(monkeypatch, place, 1, Killed, sync)

    session = Session.objects.get()
    assert (session.health, session.scan_is_current) == ("blocked", True)
    assert whole()
    later = timezone.now() + LEASE
    while import_run(job_id=sync.pk, clock=lambda: later):
        pass
    session.refresh_from_db()
    assert session.health != "blocked"
    assert whole()


def dies(monkeypatch: pytest.MonkeyPatch, place, time: int, ended: type[BaseException], job: ImportJob) -> None:
    """The ``time``-th time that it gets there, once it has done that; sooner where it is over before."""
    module, name = place
    real, count = getattr(module, name), []

    def last(*given, **named):
        done = real(*given, **named)
        count.append(1)
        if len(count) == time:
            raise ended
        return done

    with monkeypatch.context() as patched:
        patched.setattr(module, name, last)
        try:
            while import_run(job_id=job.pk, clock=timezone.now):
                pass
        except ended:
            pass


@pytest.mark.parametrize("place", ["_purge_files", "Journal", "transaction"])
def test_a_deletion_that_dies_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_dir, place) -> None:
    with (CORPUS / "dup_id_slow.db").open("rb") as file:
        source, job = uploading.source_upload(file=file, name="x.db", actor="ann", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass

    def dead(*given: object, **named: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        if place == "transaction":
            patched.setattr(Source, "delete", dead)
        else:
            patched.setattr(purging, place, dead)
        with pytest.raises(Killed):
            source_delete(source=source, actor="ann", now=timezone.now())

    assert whole()
    source_delete(source=Source.objects.get(), actor="ann", now=timezone.now())
    assert not Session.objects.exists()
    assert list((data_dir / "uploads").iterdir()) == []


def test_an_upload_whose_process_died_while_it_arrived_is_cleared_away(tmp_path: Path, data_dir: Path) -> None:
    with (CORPUS / "dup_id_slow.db").open("rb") as file:
        uploading.source_upload(file=file, name="x.db", actor="ann", now=timezone.now())
    dead, young = data_dir / "uploads" / ("d" * 32), data_dir / "uploads" / ("e" * 32)
    for folder in (dead, young):
        folder.mkdir()
        (folder / "upload.part").write_bytes(b"half a database")
    for folder in (data_dir / "uploads").iterdir():
        if folder != young:
            os.utime(folder, (0, 0))

    told = keeping_prune(now=timezone.now())

    assert told.files == [dead]
    assert not dead.exists() and young.exists()
    assert Path(Source.objects.get().stored_path).is_file()
