"""Repairs: planned, applied to the file with the mirror following, taken back to the last byte, refused where something
changed."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import OperationalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from sessions_app import stores
from sessions_app.domain import rowdoc
from sessions_app.domain.wish import Wish
from sessions_app.models import AuditEntry, Part, Repair, Session
from sessions_app.selectors import history
from sessions_app.selectors.rows import session_rows
from sessions_app.services import importing, uploading
from sessions_app.services.actor import Actor
from sessions_app.services.repair import destination
from sessions_app.services.repair import history as history_of_repairs
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.bench import session_bench
from sessions_app.services.repair.recover import repairs_recover
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.undo import repair_undo
from sessions_app.stores.holders import Holder
from tests.examples import one_in
from tests.factories.killing import Killed, killed_at
from tests.factories.models import NOW
from tests.paths import CORPUS

pytestmark = pytest.mark.django_db

ANN = Actor(name="ann", reason="customer 42")
SAFE = Wish()


def attached(path: Path) -> Session:
    source, job = importing.source_attach(path=path, actor="ann", now=NOW)
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    return source.sessions.get()


@pytest.fixture
def poisoned(tmp_path, data_dir) -> Session:
    """A database that the real client wrote and the real provider refuses, attached and imported."""
    path = tmp_path / "opencode.db"
    shutil.copy(CORPUS / "dup_id_slow.db", path)
    return attached(path)


def content(path: Path | str) -> dict[str, list[tuple]]:
    """Every row of the tables a repair may touch."""
    with sqlite3.connect(path) as connection:
        tables = ("session", "message", "part", "session_message", "project", "event", "event_sequence")
        found = {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables}
    connection.close()
    return found


def apply(session: Session, **given) -> Repair:
    return repair_apply(session=session, wish=SAFE, actor=ANN, now=NOW, **given)


def test_a_poisoned_session_is_blocked_before_and_not_after(poisoned):
    assert poisoned.health == "blocked"

    repair = apply(poisoned)

    poisoned.refresh_from_db()
    assert poisoned.health != "blocked"
    assert repair.state == "applied"
    assert repair.verification["blocked"] == 0
    assert repair.verification["as_planned"]
    assert "duplicate-call-id-in-message" in repair.rules
    assert repair.change_count == repair.changes.count() > 0


def test_the_mirror_is_what_the_file_holds_after_a_repair(poisoned):
    apply(poisoned)

    with stores.open_store(Path(poisoned.source.file)) as store:
        stored = store.read(poisoned.stored_id)
    poisoned.refresh_from_db()
    assert rowdoc.rows_hash(session_rows(poisoned)) == rowdoc.rows_hash(stored) == poisoned.rows_hash


def test_events_are_left_alone(poisoned):
    before = content(poisoned.source.file)

    apply(poisoned)

    after = content(poisoned.source.file)
    assert after["event"] == before["event"]
    assert after["event_sequence"] == before["event_sequence"]
    assert after["part"] != before["part"]


def test_undo_restores_every_byte_of_every_row(poisoned):
    before = content(poisoned.source.file)
    hash_before = poisoned.rows_hash
    repair = apply(poisoned)

    undo = repair_undo(repair=repair, actor=ANN, now=NOW)

    repair.refresh_from_db()
    poisoned.refresh_from_db()
    assert content(poisoned.source.file) == before
    assert poisoned.rows_hash == hash_before
    assert poisoned.health == "blocked"
    assert (repair.state, undo.state, undo.undoes) == ("undone", "applied", repair)


def test_repairing_again_finds_nothing(poisoned):
    apply(poisoned)

    with pytest.raises(RepairRefused) as refused:
        apply(poisoned)

    assert refused.value.kind == "nothing"
    assert Repair.objects.count() == 1


def test_an_undone_repair_cannot_be_undone_again_but_its_undo_can(poisoned):
    repair = apply(poisoned)
    after = content(poisoned.source.file)
    undo = repair_undo(repair=repair, actor=ANN, now=NOW)

    with pytest.raises(RepairRefused) as refused:
        repair_undo(repair=Repair.objects.get(pk=repair.pk), actor=ANN, now=NOW)
    repair_undo(repair=undo, actor=ANN, now=NOW)

    assert refused.value.kind == "state"
    assert content(poisoned.source.file) == after


def test_a_session_that_changed_since_the_plan_is_refused_with_what_changed(poisoned):
    with session_bench(session=poisoned, now=NOW) as bench:
        planned = bench.plan
    part = Part.objects.filter(kind="text").first()
    with sqlite3.connect(poisoned.source.file) as connection:
        connection.execute("UPDATE part SET data = ? WHERE id = ?", ('{"type":"text","text":"new"}', part.stored_id))
    connection.close()
    before = content(poisoned.source.file)

    with pytest.raises(RepairRefused) as refused:
        apply(poisoned, expected_hash=planned.rows_hash)

    assert refused.value.kind == "changed"
    assert f"part {part.stored_id} changed" in refused.value.changed
    assert content(poisoned.source.file) == before
    part.refresh_from_db()
    assert part.data == '{"type":"text","text":"new"}'


def test_a_row_that_changed_after_the_repair_stops_its_undo(poisoned):
    repair = apply(poisoned)
    change = next(
        change.change for change in repair.changes.all() if change.change.after is not None and change.table == "part"
    )
    with sqlite3.connect(poisoned.source.file) as connection:
        connection.execute("UPDATE part SET time_updated = 1 WHERE id = ?", (change.after["id"],))
    connection.close()
    before = content(poisoned.source.file)

    with pytest.raises(RepairRefused) as refused:
        repair_undo(repair=repair, actor=ANN, now=NOW)

    repair.refresh_from_db()
    assert refused.value.kind == "changed"
    assert content(poisoned.source.file) == before
    assert repair.state == "applied"


def test_a_full_backup_is_made_once_a_day(poisoned):
    repair = apply(poisoned)
    undo = repair_undo(repair=repair, actor=ANN, now=NOW)

    assert repair.backup_path == undo.backup_path
    assert content(repair.backup_path) == content(poisoned.source.file)


def test_a_file_over_the_limit_is_not_backed_up_and_says_so(poisoned, settings):
    settings.SUTURE_BACKUP_LIMIT = 10

    repair = apply(poisoned)

    assert repair.backup_path == ""
    assert "limit" in repair.backup_note


def test_the_preview_is_computed_and_writes_nothing(poisoned):
    before = content(poisoned.source.file)

    with session_bench(session=poisoned, now=NOW) as bench:
        preview = bench.preview

    assert preview.verdict_before is not None
    assert preview.verdict_after is not None
    assert (preview.verdict_before.accepted, preview.verdict_after.accepted) == (False, True)
    assert content(poisoned.source.file) == before
    assert Repair.objects.count() == 0


def test_who_did_what_is_in_the_audit_trail(poisoned):
    repair = apply(poisoned)
    repair_undo(repair=repair, actor=Actor(name="bob"), now=NOW)

    sentences = [entry.sentence for entry in AuditEntry.objects.filter(object_type="repair").order_by("pk")]
    assert sentences == [
        f"ann repaired {poisoned.stored_id}: {repair.change_count} rows changed",
        f"bob took repair {repair.public_id} of {poisoned.stored_id} back",
    ]


def test_the_history_holds_repairs_and_their_undo(poisoned):
    repair = apply(poisoned)
    undo = repair_undo(repair=repair, actor=ANN, now=NOW)

    listed = history.session_repairs(poisoned.pk)

    assert {one.public_id for one in listed.rows} == {repair.public_id, undo.public_id}
    assert [one.public_id for one in history.repair_page(history.RepairQuery(state="undone")).rows] == [
        repair.public_id
    ]


def test_an_upload_is_repaired_in_its_copy(tmp_path, data_dir):
    with (CORPUS / "dup_id_slow.db").open("rb") as file:
        source, job = uploading.source_upload(file=file, name="customer.db", actor="ann", now=NOW)
    while importing.import_run(job_id=job.pk, clock=timezone.now):
        pass
    session = source.sessions.get()

    repair = apply(session)

    session.refresh_from_db()
    assert repair.path == source.stored_path
    assert session.health != "blocked"
    repair_undo(repair=repair, actor=ANN, now=NOW)
    session.refresh_from_db()
    assert session.health == "blocked"


def held_by(monkeypatch, *holders: Holder) -> None:
    monkeypatch.setattr(stores.SqliteStore, "holders", lambda self: list(holders))


@pytest.fixture
def stuck(tmp_path, data_dir) -> Session:
    path = tmp_path / "opencode.db"
    shutil.copy(CORPUS / "abort_running.db", path)
    with sqlite3.connect(path) as connection:
        part = connection.execute('SELECT id, data FROM part WHERE data LIKE \'%"type":"tool"%\'').fetchone()
        state = '{"status":"running","input":{"command":"sleep"},"time":{"start":1}}'
        running = f'{{"type":"tool","tool":"bash","callID":"call_x","state":{state}}}'
        connection.execute("UPDATE part SET data = ? WHERE id = ?", (running, part[0]))
    connection.close()
    return attached(path)


def test_closing_a_stuck_tool_waits_for_the_client_unless_forced(stuck, monkeypatch):
    held_by(monkeypatch, Holder(4711, "opencode serve", True))
    wish = Wish(rules=("stuck-tool",))

    with pytest.raises(RepairRefused) as refused:
        repair_apply(session=stuck, wish=wish, actor=ANN, now=NOW)
    forced = repair_apply(session=stuck, wish=replace(wish, force=True), actor=ANN, now=NOW)

    assert refused.value.kind == "held"
    assert "opencode serve (process 4711)" in refused.value.words
    assert forced.forced
    assert forced.holders[0]["pid"] == 4711


def test_other_repairs_only_tell_that_the_client_has_the_file_open(poisoned, monkeypatch):
    held_by(monkeypatch, Holder(4711, "opencode serve", True))

    with session_bench(session=poisoned, now=NOW) as bench:
        warning = bench.warning
    repair = apply(poisoned)

    assert warning == "opencode serve (process 4711) has this file open."
    assert repair.state == "applied"


@pytest.mark.parametrize(("step", "state"), [("prepared", "failed"), ("committed", "applied"), ("marked", "applied")])
def test_killed_while_writing_the_next_start_brings_history_and_mirror_to_the_file(poisoned, monkeypatch, step, state):
    before = content(poisoned.source.file)
    with monkeypatch.context() as patched:
        killed_at(patched, step)
        with pytest.raises(Killed):
            apply(poisoned)

    repairs_recover(now=NOW)

    repair = Repair.objects.get()
    poisoned.refresh_from_db()
    assert repair.state == state
    assert (content(poisoned.source.file) == before) is (state == "failed")
    with stores.open_store(Path(poisoned.source.file)) as store:
        assert poisoned.rows_hash == rowdoc.rows_hash(store.read(poisoned.stored_id))
    assert (poisoned.health == "blocked") is (state == "failed")


@pytest.mark.parametrize(
    "step", ["prepared", "written", "committed", "told", "marked", "applied_mark", "mirror_follow"]
)
def test_killed_while_undoing_the_next_start_brings_history_and_mirror_to_the_file(poisoned, monkeypatch, step):
    before = content(poisoned.source.file)
    repair = apply(poisoned)
    with monkeypatch.context() as patched:
        if step in ("applied_mark", "mirror_follow"):
            patched.setattr(history_of_repairs, step, killed)
        else:
            killed_at(patched, step)
        with pytest.raises(Killed):
            repair_undo(repair=repair, actor=ANN, now=NOW)

    repairs_recover(now=NOW)

    done = step not in ("prepared", "written")
    repair.refresh_from_db()
    poisoned.refresh_from_db()
    assert repair.state == ("undone" if done else "applied")
    assert (content(poisoned.source.file) == before) is done
    assert (poisoned.health == "blocked") is done
    assert not Repair.objects.filter(state="planned").exists()
    assert not Repair.objects.filter(verification={}).exclude(state="failed").exists()
    if not done:
        repair_undo(repair=repair, actor=ANN, now=NOW)
        assert content(poisoned.source.file) == before


def locked_for(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Suture's own database refuses the next writes of a repair."""
    real, left = Repair.save, [None] * times

    def save(self: Repair, *args: object, **given: object) -> None:
        if left:
            left.pop()
            raise OperationalError("database is locked")
        real(self, *args, **given)

    monkeypatch.setattr(Repair, "save", save)


def test_a_lock_on_our_own_database_is_waited_for_once_and_named(poisoned, monkeypatch):
    before = content(poisoned.source.file)
    locked_for(monkeypatch, 2)
    with pytest.raises(RepairRefused, match=r"own database .*database is locked") as refused:
        apply(poisoned)
    assert refused.value.kind == "store"
    assert content(poisoned.source.file) == before

    locked_for(monkeypatch, 1)
    assert apply(poisoned).state == "applied"


def test_a_lock_after_the_rows_are_written_leaves_a_repair_that_is_settled_later(poisoned, monkeypatch):
    before = content(poisoned.source.file)
    with monkeypatch.context() as patched:
        patched.setattr(history_of_repairs, "applied_mark", locked)
        repair = apply(poisoned)
    assert "locked" in repair.verification["problem"]
    assert content(poisoned.source.file) != before

    repairs_recover(now=NOW)

    repair = Repair.objects.get()
    assert (repair.state, repair.verification["as_planned"]) == ("applied", True)


def locked(**given: object) -> None:
    raise OperationalError("database is locked")


def killed(**given: object) -> None:
    raise Killed


def test_an_undo_of_which_nobody_can_tell_lets_go_of_its_repair(poisoned, monkeypatch):
    repair = apply(poisoned)
    with monkeypatch.context() as patched:
        killed_at(patched, "prepared")
        with pytest.raises(Killed):
            repair_undo(repair=repair, actor=ANN, now=NOW)
    client = sqlite3.connect(poisoned.source.file, isolation_level=None)
    for change in repair.changes.all():
        client.execute(f"UPDATE {change.table} SET time_updated = 1")
        if not change.after:
            taken = change.change.key["id"]
            client.execute(f"UPDATE {change.table} SET id = ? WHERE rowid = 1", (taken,))
    client.close()

    repairs_recover(now=NOW)

    left = Repair.objects.get(state="failed")
    assert "changed by others" in left.error
    with pytest.raises(RepairRefused, match="changed since"):
        repair_undo(repair=Repair.objects.get(pk=repair.pk), actor=ANN, now=NOW)


def test_a_mirror_that_could_not_follow_catches_up_when_the_session_is_opened(poisoned, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(destination, "session_read", lambda **given: 1 / 0)
        repair = apply(poisoned)
    assert repair.state == "applied"
    assert "problem" in repair.verification

    with session_bench(session=Session.objects.get(), now=NOW) as bench:
        planned = bench.plan

    assert planned.changes == ()
    assert Session.objects.get().health != "blocked"


class RoundTrip(TestCase):
    @given(st.lists(st.sampled_from(["apply", "undo"]), max_size=6))
    @one_in(8)
    def test_any_order_of_repairs_and_undos_ends_in_one_of_the_two_states(self, steps):
        import tempfile

        from django.test import override_settings

        with tempfile.TemporaryDirectory() as folder, override_settings(SUTURE_DATA_DIR=folder):
            path = Path(folder) / "opencode.db"
            shutil.copy(CORPUS / "seed_kimi_abort.db", path)
            session = attached(path)
            before, done = content(path), []
            for step in steps:
                try:
                    if step == "apply":
                        done.append(apply(session))
                    elif done:
                        repair_undo(repair=done.pop(), actor=ANN, now=NOW)
                except RepairRefused as refused:
                    assert refused.kind == "nothing"
            assert (content(path) == before) is (not done)
            while done:
                repair_undo(repair=done.pop(), actor=ANN, now=NOW)
            assert content(path) == before
