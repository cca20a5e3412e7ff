"""A clock that jumps, forward and back: backups, restore points, undo, retention, jobs, workers, ways in."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app import tasks
from sessions_app.domain.wish import Wish
from sessions_app.models import ImportJob, ImportRange, LoginLink, Repair, Session, WorkerBeat
from sessions_app.services.access import (
    LoginLinkRefused,
    login_link_create,
    login_link_use,
    token_create,
    token_found,
)
from sessions_app.services.actor import Actor
from sessions_app.services.importing import import_run, source_attach
from sessions_app.services.jobs import LEASE
from sessions_app.services.pruning import keeping_prune
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.recover import repairs_settle
from sessions_app.services.repair.undo import repair_undo
from sessions_app.services.workers import worker_beat, worker_is_alive
from sessions_app.stores import open_store
from sessions_app.stores.backup import backup_once
from sessions_app.stores.journal import Journal, new_public_id
from sessions_app.stores.keeping import kept_backups
from tests.bulk.store import many
from tests.factories.corpus import copied, session_of
from tests.factories.killing import Killed, killed_at
from tests.stores.conftest import replaced

pytestmark = pytest.mark.django_db

ANN = Actor(name="ann")
JUMPS = [timedelta(days=-400), timedelta(hours=-1), timedelta(minutes=-1), timedelta(hours=1), timedelta(days=400)]
jumped = pytest.mark.parametrize("jump", JUMPS, ids=str)


def dump(path: str | Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@jumped
def test_a_repair_is_undone_whatever_the_clock_did_between_the_two(tmp_path: Path, data_dir: Path, jump) -> None:
    session = session_of("dup_id_slow", tmp_path)
    before, now = dump(session.source.file), timezone.now()

    repair = repair_apply(session=session, wish=Wish(), actor=ANN, now=now)
    assert Path(repair.backup_path).is_file()
    repair_undo(repair=repair, actor=ANN, now=now + jump)

    assert dump(session.source.file) == before
    repair.refresh_from_db()
    session.refresh_from_db()
    assert (repair.state, session.health, session.repaired_at) == ("undone", "blocked", None)


@jumped
def test_two_repairs_of_one_row_are_undone_in_the_order_of_the_file_not_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump
) -> None:
    path, journal = copied("clean", tmp_path), Journal(tmp_path / "journal")
    before = dump(path)
    with open_store(path) as store:
        part = next(store.read_all()).parts[-1]
        other = replaced(part, data=part["data"] + " ")
        first = store.apply([other], journal=journal)
        begun = time.time_ns()
        monkeypatch.setattr(
            "sessions_app.stores.journal.time.time_ns", lambda: begun + int(jump.total_seconds()) * 10**9
        )
        assert other.after is not None
        second = store.apply([replaced(other.after, data=part["data"] + "  ")], journal=journal)
        with pytest.raises(Exception, match="changed"):
            store.apply(journal.get(first.entry_id).inverse, journal=journal)
        for entry in (second, first):
            store.apply(journal.get(entry.entry_id).inverse, journal=journal)
    assert dump(path) == before


@jumped
def test_every_day_of_the_clock_has_its_own_backup_and_none_is_written_over(tmp_path: Path, jump) -> None:
    path, folder, now = copied("clean", tmp_path), tmp_path / "backups", timezone.now()
    first = backup_once(path, folder, day=now.date()).path
    assert first is not None
    kept = first.read_bytes()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE session SET title = 'later'")
    connection.close()

    second = backup_once(path, folder, day=(now + jump).date()).path

    assert second is not None
    assert first.read_bytes() == kept
    assert (second == first) == (now.date() == (now + jump).date())


def dated(path: Path, when: datetime) -> None:
    os.utime(path, (when.timestamp(), when.timestamp()))


def test_backups_made_while_the_clock_was_ahead_do_not_push_out_the_ones_made_since(
    tmp_path: Path, data_dir: Path, settings
) -> None:
    settings.SUTURE_KEEP_BACKUPS = 2
    path, now = copied("clean", tmp_path), timezone.now()
    ahead = now + timedelta(days=400)
    for number in range(3):
        made = backup_once(path, data_dir / "backups", day=(ahead + timedelta(days=number)).date()).path
        dated(made, ahead + timedelta(days=number))
    true = backup_once(path, data_dir / "backups", day=now.date()).path
    dated(true, now)

    keeping_prune(now=now)

    left = {backup.path for backup in kept_backups(data_dir / "backups")}
    assert true in left
    assert len(left) == 2


@pytest.mark.parametrize("jump", [timedelta(days=-8000), timedelta(days=8000)], ids=str)
def test_pruning_with_a_wrong_clock_keeps_the_newest_of_everything(
    tmp_path: Path, data_dir: Path, settings, jump
) -> None:
    settings.SUTURE_KEEP_RESTORE_POINTS = 2
    session = session_of("dup_id_slow", tmp_path)
    for _ in range(3):
        repair = repair_apply(session=session, wish=Wish(), actor=ANN, now=timezone.now())
        session.refresh_from_db()
        if _ < 2:
            repair_undo(repair=repair, actor=ANN, now=timezone.now())
            session.refresh_from_db()
    before = dump(session.source.file)

    keeping_prune(now=timezone.now() + jump)

    assert [backup.path.is_file() for backup in kept_backups(data_dir / "backups")] == [True]
    repair_undo(repair=repair, actor=ANN, now=timezone.now())
    assert dump(session.source.file) != before


def test_a_job_whose_worker_died_before_the_clock_was_set_back_is_taken_up(
    tmp_path: Path, django_capture_on_commit_callbacks
) -> None:
    _, job = source_attach(path=many(tmp_path / "opencode.db", {"clean": 3}), actor="ann", now=timezone.now())
    later = timezone.now() + timedelta(days=1)
    assert import_run(job_id=job.pk, clock=lambda: later, seconds=0)
    for kind in (ImportJob, ImportRange):
        kind.objects.update(lease_until=later + LEASE, heartbeat_at=later)
    assert not import_run(job_id=job.pk, clock=timezone.now), "somebody has it, as far as can be told"

    with django_capture_on_commit_callbacks(execute=True):
        tasks.reap()

    job.refresh_from_db()
    assert (job.state, job.percent) == ("done", 100)
    assert not Session.objects.filter(imported_at=None).exists()


def test_a_repair_whose_process_died_before_the_clock_was_set_back_is_settled(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of("dup_id_slow", tmp_path)
    with monkeypatch.context() as patched:
        killed_at(patched, "committed")
        with pytest.raises(Killed):
            repair_apply(session=session, wish=Wish(), actor=ANN, now=timezone.now() + timedelta(days=1))
    assert Repair.objects.get().state == "planned"

    repairs_settle(now=timezone.now(), silence=tasks.SILENCE)

    assert Repair.objects.get().state == "applied"
    session.refresh_from_db()
    assert session.health != "blocked"


def test_a_worker_that_died_before_the_clock_was_set_back_is_not_alive() -> None:
    now = timezone.now()
    worker_beat(worker_id="dead", now=now + timedelta(days=1))
    assert not worker_is_alive(now=now)

    worker_beat(worker_id="alive", now=now)

    assert worker_is_alive(now=now)
    assert [beat.worker_id for beat in WorkerBeat.objects.all()] == ["alive"]


def test_a_way_in_that_has_ended_by_the_clock_is_shut_and_one_that_was_used_stays_shut(alice) -> None:
    now = timezone.now()
    _, token = token_create(user=alice, name="t", now=now, life=timedelta(days=1))
    assert token_found(token=token, now=now + timedelta(days=2)) is None
    link = login_link_create(user=alice, now=now)
    login_link_use(token=link, now=now)
    for jump in JUMPS:
        with pytest.raises(LoginLinkRefused):
            login_link_use(token=link, now=now + jump)
    assert LoginLink.objects.count() == 1


def test_public_ids_are_not_given_twice_when_the_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions_app.stores.journal.time.time_ns", lambda: 1_000_000_000)
    assert len({new_public_id() for _ in range(1000)}) == 1000
