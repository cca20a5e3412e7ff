"""Sources: listed at once, read in the background newest first, resumed by whoever comes next, read again where they
changed."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app import samples, stores, tasks
from sessions_app.domain import rowdoc
from sessions_app.models import AuditEntry, ImportJob, Message, Part, Session, Source, SourceProblem
from sessions_app.selectors.rows import session_rows
from sessions_app.services import importing, jobs, mirrorrows, reading, uploading
from sessions_app.stores.base import StoreError
from tests.each import for_each
from tests.factories.models import NOW
from tests.paths import CASES, CORPUS

pytestmark = pytest.mark.django_db


@pytest.fixture
def sample_db(tmp_path) -> Path:
    return samples.unpack(tmp_path / "native")


def attach(path: Path) -> tuple[Source, ImportJob]:
    return importing.source_attach(path=path, actor="ann", now=NOW)


def run(job: ImportJob) -> ImportJob:
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    job.refresh_from_db()
    return job


def edit(path: Path, sql: str, *values) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute(sql, values).rowcount > 0
    connection.close()


def test_attaching_lists_every_session_at_once_and_reads_no_message(sample_db):
    source, job = attach(sample_db)

    with stores.open_store(sample_db) as store:
        assert source.sessions_total == len(list(store.sessions())) > 5
    assert Session.objects.filter(imported_at=None, health="not-scanned").count() == source.sessions_total
    assert Message.objects.count() == 0
    assert (job.state, job.total) == ("queued", source.sessions_total)
    assert AuditEntry.objects.get().sentence == "ann attached samples.db"


def test_of_a_large_source_the_newest_are_listed_at_once_and_the_others_by_the_import(sample_db, monkeypatch):
    monkeypatch.setattr(importing, "LISTED", 3)
    source, job = attach(sample_db)
    with stores.open_store(sample_db) as store:
        newest, whole = [row["id"] for row in store.sessions()][:3], len(list(store.sessions()))
    assert sorted(Session.objects.values_list("stored_id", flat=True)) == sorted(newest)
    assert (source.state, job.total, source.sessions_total) == ("listing", 3, 3)

    def died(**given):
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):  # with all listed, as far as it came
        patched.setattr(importing, "store_damage", died)
        patched.setattr(importing, "_BATCH", 2)
        importing.import_run(job_id=job.pk, clock=timezone.now)
    assert Source.objects.get().state == "listing"
    jobs.jobs_abandoned(ImportJob, timezone.now() + jobs.LEASE)

    job = run(job)

    source.refresh_from_db()
    assert (job.state, job.done, job.total, source.state) == ("done", whole, whole, "ready")
    assert Session.objects.count() == source.sessions_total == whole


def test_a_stop_is_seen_while_sessions_are_listed(sample_db, monkeypatch):
    monkeypatch.setattr(importing, "LISTED", 3)
    monkeypatch.setattr(importing, "_BATCH", 1)
    source, job = attach(sample_db)
    real = importing.session_fields

    def listed(row):
        importing.import_cancel(job=ImportJob.objects.get(pk=job.pk), actor="ann", now=timezone.now())
        return real(row)

    monkeypatch.setattr(importing, "session_fields", listed)

    job = run(job)

    source.refresh_from_db()
    assert (job.state, source.state) == ("cancelled", "ready")
    assert Session.objects.count() == 4


def test_the_import_mirrors_every_row_and_scans_it(sample_db):
    source, job = attach(sample_db)

    job = run(job)

    source.refresh_from_db()
    assert (job.state, job.done, job.failed) == ("done", source.sessions_total, 0)
    assert (source.state, source.sessions_imported) == ("ready", source.sessions_total)
    assert source.parts_imported == Part.objects.count() > 0
    with stores.open_store(sample_db) as store:
        for rows in store.read_all():
            session = Session.objects.get(source=source, stored_id=rows.id)
            assert rowdoc.rows_hash(session_rows(session)) == session.rows_hash == rowdoc.rows_hash(rows)
            assert session.health != "not-scanned"
            assert session.scan_is_current


def test_sessions_are_read_newest_first(sample_db, monkeypatch):
    seen = []
    real = mirrorrows.plain_session
    monkeypatch.setattr(mirrorrows, "plain_session", lambda store, one: seen.append(one) or real(store, one))
    _, job = attach(sample_db)

    run(job)

    assert len(seen) > 5
    assert seen == list(Session.objects.order_by("-time_updated", "-id").values_list("stored_id", flat=True))


def test_an_import_that_lost_its_worker_goes_on_where_it_stopped(sample_db):
    _, job = attach(sample_db)
    importing.import_run(job_id=job.pk, clock=timezone.now, seconds=0.0)
    read = Session.objects.exclude(imported_at=None).count()
    assert read > 4, "whatever the time, some sessions are read: an import never stands still"
    assert not Session.objects.exclude(scanned_at=None).exists()

    silent = jobs.jobs_abandoned(ImportJob, timezone.now() + jobs.LEASE)

    assert silent == [job]
    assert run(job).state == "done"
    assert not Session.objects.filter(pending=True).exists()


def test_a_queued_job_is_left_to_its_task_until_that_must_be_lost(sample_db):
    _, job = attach(sample_db)

    assert jobs.jobs_abandoned(ImportJob, NOW + timedelta(minutes=9)) == []
    assert jobs.jobs_abandoned(ImportJob, NOW + timedelta(minutes=10)) == [job]


def test_a_job_with_a_beating_heart_is_left_alone(sample_db):
    _, job = attach(sample_db)
    importing.import_run(job_id=job.pk, clock=timezone.now, seconds=0.0)

    assert jobs.jobs_abandoned(ImportJob, timezone.now()) == []


def test_importing_twice_changes_nothing(sample_db):
    source, job = attach(sample_db)
    run(job)
    before = list(Part.objects.order_by("pk").values()), list(Message.objects.order_by("pk").values())

    again, second = attach(sample_db)
    Session.objects.update(pending=True)
    run(second)

    assert again == source
    assert before == (
        list(Part.objects.order_by("pk").values()),
        list(Message.objects.order_by("pk").values()),
    )


def test_a_sync_reads_only_what_changed(sample_db):
    source, job = attach(sample_db)
    run(job)
    with stores.open_store(sample_db) as store:
        changed = [row["id"] for row in store.sessions()][3]
    edit(
        sample_db,
        "UPDATE session SET title = 'renamed', time_updated = time_updated + 1 WHERE id = ?",
        changed,
    )

    job = run(importing.source_sync(source=source, actor="ann", now=NOW))

    assert (job.total, job.done) == (1, 1)
    assert Session.objects.get(stored_id=changed).title == "renamed"


def test_a_session_that_went_away_is_kept_and_marked(sample_db):
    source, job = attach(sample_db)
    run(job)
    gone = Session.objects.order_by("pk").first()
    edit(sample_db, "DELETE FROM session WHERE id = ?", gone.stored_id)

    run(importing.source_sync(source=source, actor="ann", now=NOW))

    gone.refresh_from_db()
    source.refresh_from_db()
    assert gone.missing_since is not None
    assert source.sessions_total == Session.objects.count() - 1


def test_a_cancelled_import_keeps_what_it_read(sample_db):
    source, job = attach(sample_db)
    importing.import_cancel(job=job, actor="ann", now=NOW)

    job = run(job)

    source.refresh_from_db()
    assert (job.state, source.state) == ("cancelled", "ready")
    assert source.sessions_total == Session.objects.count()


def test_a_session_that_cannot_be_read_is_told_and_the_others_go_on(sample_db, monkeypatch):
    real = stores.SqliteStore.read

    def read(self, session_id):
        if session_id == broken:
            raise StoreError("corrupt", self.path, "The page is damaged.")
        return real(self, session_id)

    source, job = attach(sample_db)
    broken = Session.objects.order_by("time_updated").first().stored_id
    monkeypatch.setattr(stores.SqliteStore, "read", read)

    job = run(job)

    session = Session.objects.get(stored_id=broken)
    assert (job.state, job.failed, job.done) == ("done", 1, source.sessions_total - 1)
    assert (session.health, session.error) == ("unreadable", "The page is damaged.")
    assert SourceProblem.objects.get(session_id_stored=broken).reason == "The page is damaged."


def test_a_part_that_is_no_json_is_kept_and_reported(sample_db):
    _, job = attach(sample_db)
    run(job)
    part = Part.objects.filter(item=None).order_by("pk").first()
    edit(sample_db, "UPDATE part SET data = '{broken' WHERE id = ?", part.stored_id)

    reading.session_refresh(session=part.session, now=NOW)

    part.refresh_from_db()
    assert (part.data, part.kind) == ("{broken", "")
    assert "corrupt-json" in set(part.session.findings.values_list("rule", flat=True))


def test_a_file_that_goes_away_fails_the_job_with_words(sample_db):
    source, job = attach(sample_db)
    shutil.rmtree(sample_db.parent)

    job = run(job)

    source.refresh_from_db()
    assert (job.state, source.state) == ("failed", "failed")
    assert job.error
    assert source.error == job.error


def test_opening_a_session_that_is_not_imported_reads_it_alone(sample_db):
    attach(sample_db)
    session = Session.objects.order_by("time_updated").first()

    result = reading.session_refresh(session=session, now=NOW)

    assert result.changed
    assert set(Message.objects.values_list("session_id", flat=True)) == {session.pk}
    assert session.health != "not-scanned"


def test_opening_a_session_of_a_live_source_shows_what_the_agent_wrote_since(sample_db):
    _, job = attach(sample_db)
    run(job)
    part = Part.objects.filter(kind="text").order_by("pk").first()
    edit(
        sample_db,
        "UPDATE part SET data = ? WHERE id = ?",
        '{"type":"text","text":"written since"}',
        part.stored_id,
    )

    first = reading.session_refresh(session=part.session, now=NOW)
    second = reading.session_refresh(session=part.session, now=NOW)

    part.refresh_from_db()
    assert (first.changed, second.changed) == (True, False)
    assert part.data == '{"type":"text","text":"written since"}'


def test_a_live_source_that_went_away_leaves_the_imported_session_readable(sample_db):
    _, job = attach(sample_db)
    run(job)
    session = Session.objects.first()
    sample_db.unlink()

    result = reading.session_refresh(session=session, now=NOW)

    assert result.problem
    assert session_rows(session).messages


def test_no_store_leaves_nothing_behind(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Ann,")

    with pytest.raises(StoreError):
        attach(tmp_path / "letter.txt")

    assert Source.objects.count() == ImportJob.objects.count() == AuditEntry.objects.count() == 0


def test_an_upload_is_read_from_its_copy_and_can_be_deleted_for_good(sample_db, data_dir):
    with sample_db.open("rb") as file:
        source, job = uploading.source_upload(file=file, name="customer.db", actor="ann", now=NOW)
    sample_db.unlink()
    run(job)
    stored = Path(source.stored_path)
    assert (source.name, source.origin, source.live) == ("customer.db", "uploaded", False)
    assert data_dir in stored.parents

    importing.source_delete(source=source, actor="ann", now=NOW)

    assert not list((data_dir / "uploads").iterdir())
    assert Session.objects.count() == Part.objects.count() == Source.objects.count() == 0
    assert "deleted customer.db" in AuditEntry.objects.first().sentence


def test_an_upload_that_is_no_store_leaves_no_file(data_dir):
    with pytest.raises(StoreError):
        uploading.source_upload(file=io.BytesIO(b"Dear Ann,"), name="letter.txt", actor="ann", now=NOW)

    assert [path for path in data_dir.rglob("*") if path.is_file()] == []


def test_deleting_an_attached_source_leaves_its_file_alone(sample_db):
    source, job = attach(sample_db)
    run(job)
    before = sample_db.read_bytes()

    importing.source_delete(source=source, actor="ann", now=NOW)

    assert sample_db.read_bytes() == before
    assert Session.objects.count() == 0


def test_a_row_document_is_a_source_too(tmp_path):
    case = json.loads(next(iter(sorted(CASES.glob("01-*.json")))).read_text())
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case["input"]))

    source, job = attach(path)
    run(job)

    session = Session.objects.get()
    assert (source.kind, session.stored_id, session.health) == ("rows", "ses_case", "blocked")
    assert "openai-chat" in session.rejected_by
    assert session.verdicts.get(own=True).violations[0]["error"]


def test_the_task_runs_an_import_to_its_end(sample_db, django_capture_on_commit_callbacks):
    _, job = attach(sample_db)

    with django_capture_on_commit_callbacks(execute=True):
        tasks.job_enqueue(job)

    job.refresh_from_db()
    assert job.state == "done"


@for_each("name", sorted(path.name for path in CORPUS.glob("*.db")), one_in=24)
def test_databases_of_the_real_client_come_through_whole(name, tmp_path):
    path = tmp_path / name
    shutil.copy(CORPUS / name, path)

    source, job = attach(path)
    run(job)

    with stores.open_store(path) as store:
        for rows in store.read_all():
            assert rowdoc.rows_hash(session_rows(source.sessions.get(stored_id=rows.id))) == rowdoc.rows_hash(rows)


def test_a_damaged_database_is_told_and_what_can_be_read_is_read(sample_db):
    with sqlite3.connect(sample_db) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        page = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'event' AND type = 'table'"
        ).fetchone()[0]
    connection.close()
    with sample_db.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    source, job = attach(sample_db)
    run(job)

    source.refresh_from_db()
    assert source.damage
    assert source.sessions_imported == source.sessions_total > 5
    assert SourceProblem.objects.filter(source=source, session_id_stored="").exists()
    assert set(Session.objects.filter(findings__rule="sqlite-corrupt").values_list("health", flat=True)) <= {
        "at-risk",
        "blocked",
        "unreadable",
    }
    assert Session.objects.filter(findings__rule="sqlite-corrupt").exists()


def test_a_database_without_damage_has_none(sample_db):
    source, job = attach(sample_db)
    run(job)

    source.refresh_from_db()
    assert source.damage == []
