"""An undo that could not be done is no dead end, and two at once are one."""

from __future__ import annotations

import shutil
import sqlite3

import pytest
from django.utils import timezone

from sessions_app.domain.wish import Wish
from sessions_app.models import Repair
from sessions_app.services import importing
from sessions_app.services.actor import Actor
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.undo import repair_undo
from sessions_app.services.repair.write import journal
from sessions_app.stores.base import StoreError
from sessions_app.stores.journal import Journal
from sessions_app.stores.sqlite import SqliteStore
from tests.paths import CORPUS

pytestmark = pytest.mark.django_db
ANN = Actor(name="ann")


@pytest.fixture
def repaired(tmp_path, data_dir) -> Repair:
    path = tmp_path / "opencode.db"
    shutil.copy(CORPUS / "dup_id_slow.db", path)
    path.chmod(0o600)
    source, job = importing.source_attach(path=path, actor="ann", now=timezone.now())
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    session = source.sessions.get()
    return repair_apply(session=session, wish=Wish(), actor=ANN, now=timezone.now())


def undo(repair: Repair) -> Repair:
    return repair_undo(repair=Repair.objects.get(pk=repair.pk), actor=ANN, now=timezone.now())


def test_after_an_undo_failed_on_a_lock_it_can_be_undone(repaired, monkeypatch):
    def locked(*args):
        raise StoreError("busy", repaired.path, "Another process holds a lock on the database.")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_write", locked)
        with pytest.raises(RepairRefused):
            undo(repaired)
    assert Repair.objects.filter(state=Repair.State.FAILED, error__contains=repaired.public_id).exists()
    assert undo(repaired).state == Repair.State.APPLIED


def test_a_second_undo_at_the_same_time_is_refused_in_words(repaired):
    Repair.objects.create(undoes=repaired, path=repaired.path, session_stored_id="x", created_at=timezone.now())
    with pytest.raises(RepairRefused) as refused:
        undo(repaired)
    assert refused.value.kind == "state"


def full(*args, **kwargs):
    raise OSError(28, "No space left on device")


def test_without_room_for_a_restore_point_nothing_is_written(repaired, monkeypatch):
    before = rows(repaired)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "prepare", full)
        with pytest.raises(RepairRefused, match="No space left"):
            undo(repaired)
    assert rows(repaired) == before
    undo(repaired)


def test_a_journal_that_fills_up_after_the_write_does_not_say_that_nothing_was_written(repaired, monkeypatch):
    before = rows(repaired)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "commit", full)
        made = undo(repaired)
    assert rows(repaired) != before
    kept = journal(timezone.now())
    assert kept.get(made.public_id).state == "prepared"
    assert [one.state for one in kept.recover(lambda path, kind: SqliteStore(path))] == ["new"]


def rows(repair: Repair) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(repair.path)
    found = connection.execute("SELECT id, data FROM part ORDER BY id").fetchall()
    connection.close()
    return found
