"""Bulk repairs: what is said before, what is done, how it is cancelled, survived and taken back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.domain.wish import Wish
from sessions_app.models import BatchResult, Repair, RepairBatch, Session, Source
from sessions_app.selectors.bulk import applied_count, report_csv, report_rows
from sessions_app.selectors.filters import SessionFilter
from sessions_app.services import bulkrun
from sessions_app.services.bulk import (
    BulkRefused,
    Selection,
    bulk_cancel,
    bulk_retry,
    bulk_start,
    bulk_undo,
)
from sessions_app.services.bulkpreview import bulk_preview
from sessions_app.services.bulkrun import bulk_run
from sessions_app.services.jobs import LEASE, jobs_abandoned
from tests.factories.corpus import NOW, attached
from tests.factories.killing import Killed

from .store import dump, many

pytestmark = pytest.mark.django_db

EVERYTHING = Selection(filter=SessionFilter())


def started(selection: Selection = EVERYTHING, **more: bool) -> RepairBatch:
    return bulk_start(selection=selection, wish=Wish(), reason="test", actor="alice", face="web", now=NOW, **more)


def run(batch: RepairBatch) -> RepairBatch:
    while bulk_run(job_id=batch.pk, clock=timezone.now):
        pass
    batch.refresh_from_db()
    return batch


def test_the_preview_counts_by_rule_and_says_what_is_skipped_and_why(source: Source, path: Path) -> None:
    before = dump(path)

    preview = bulk_preview(selection=EVERYTHING, wish=Wish(), now=NOW)

    assert (preview.words, preview.total, preview.repairable, preview.unjudged) == ("All sessions", 6, 4, 0)
    duplicate = next(line for line in preview.rules if line.rule == "duplicate-call-id-in-message")
    assert (duplicate.sessions, duplicate.taken) == (4, True)
    assert [(skip.why, skip.sessions) for skip in preview.skipped] == [("Nothing was found", 2)]
    assert len(preview.samples) == 3
    assert all(sample.accepted_before is False and sample.accepted_after for sample in preview.samples)
    assert all(sample.operations and sample.diffs[0].lines for sample in preview.samples)
    assert dump(path) == before


@pytest.mark.parametrize("safety", ["safe", "lossy"])
def test_how_many_go_on_again_is_what_a_batch_then_comes_to(
    db: None, tmp_path: Path, data_dir: Path, safety: str
) -> None:
    copies = {"dup_id_slow": 3, "v1_pexec_states_chat": 2, "v1_file_only_anth": 1, "compact_fail_400": 1, "clean": 2}
    source = attached(many(tmp_path / "mixed.db", copies))
    ids = set(Session.objects.filter(source=source, health="blocked").values_list("pk", flat=True))
    assert len(ids) == 6
    wish = Wish.of(safety=safety)

    preview = bulk_preview(selection=EVERYTHING, wish=wish, now=NOW, samples=0)
    batch = run(bulk_start(selection=EVERYTHING, wish=wish, reason="", actor="alice", face="web", now=NOW))

    blocked = set(Session.objects.filter(source=source, health="blocked").values_list("pk", flat=True))
    repaired = {result["session"] for result in batch.results if result["outcome"] == "repaired"}
    assert (preview.freed, preview.still_blocked) == (len(ids - blocked), len(blocked & repaired))
    assert preview.repairable == batch.repaired
    if safety == "safe":
        told = "3 will go on again, 2 get better and stay blocked, 1 that goes on gets better, 3 are left alone"
        assert preview.sentence == f"9 sessions: {told}"


def test_options_that_leave_a_finding_alone_say_so(source: Source) -> None:
    preview = bulk_preview(selection=EVERYTHING, wish=Wish(rules=("stuck-tool",)), now=NOW, samples=0)

    assert preview.repairable == 0
    assert {line.why for line in preview.rules} == {"not chosen"}
    assert ("What was found is left alone by these options", 4) in [(s.why, s.sessions) for s in preview.skipped]


def test_a_batch_repairs_what_it_can_and_one_undo_brings_every_byte_back(source: Source, path: Path) -> None:
    before = dump(path)

    batch = run(started())

    assert (batch.state, batch.total, batch.done) == ("done", 6, 6)
    assert (batch.repaired, batch.skipped, batch.failed) == (4, 2, 0)
    assert dump(path) != before
    assert not Session.objects.filter(health="blocked").exists()

    bulk_undo(batch=batch, actor="alice", face="web", now=NOW)
    batch = run(batch)

    assert batch.state == "undone"
    assert dump(path) == before
    assert Session.objects.filter(health="blocked").count() == 4
    assert {row["undo"] for row in report_rows(batch) if row["outcome"] == "repaired"} == {"undone"}


def test_a_filter_stands_for_the_sessions_that_match_when_the_batch_starts(source: Source) -> None:
    batch = run(started(Selection(filter=SessionFilter(health=("blocked",)))))

    assert (batch.total, batch.repaired) == (4, 4)
    assert batch.filter == {"health": ["blocked"]}


def test_no_session_no_batch(source: Source) -> None:
    with pytest.raises(BulkRefused):
        started(Selection(filter=SessionFilter(q="nothing has this title")))


def test_a_killed_worker_loses_nothing_and_nothing_is_applied_twice(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = started()
    real, calls = bulkrun.repair_apply, []

    def killed(**options: object) -> Repair:
        calls.append(1)
        repair = real(**options)
        if len(calls) == 3:
            raise Killed  # dies after the write, before it could be noted down
        return repair

    monkeypatch.setattr(bulkrun, "repair_apply", killed)
    with pytest.raises(Killed):
        bulk_run(job_id=batch.pk, clock=timezone.now)
    monkeypatch.setattr(bulkrun, "repair_apply", real)

    assert bulk_run(job_id=batch.pk, clock=timezone.now) is False, "the lease of the dead worker still runs"
    later = timezone.now() + LEASE
    assert jobs_abandoned(RepairBatch, timezone.now()) == []
    assert jobs_abandoned(RepairBatch, later) == [batch]
    while bulk_run(job_id=batch.pk, clock=lambda: later):
        pass

    batch.refresh_from_db()
    assert (batch.state, batch.done, batch.repaired, batch.failed) == ("done", 6, 4, 0)
    assert Repair.objects.filter(batch=batch, undoes=None).count() == 4
    assert len({row["repair"] for row in report_rows(batch) if row["repair"]}) == 4


def test_two_workers_never_have_one_batch_in_hand(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = started()
    real = bulkrun.repair_apply
    seen: list[bool] = []

    def meanwhile(**options: object) -> Repair:
        seen.append(bulk_run(job_id=batch.pk, clock=timezone.now))
        return real(**options)

    monkeypatch.setattr(bulkrun, "repair_apply", meanwhile)
    run(batch)

    assert seen and not any(seen)
    assert batch.repaired == 4


def test_cancel_keeps_what_is_done_and_it_can_be_undone(
    source: Source, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(path)
    batch = started()
    real = bulkrun.repair_apply

    def once(**options: object) -> Repair:
        repair = real(**options)
        bulk_cancel(batch=batch, actor="alice", face="web", now=NOW)
        return repair

    monkeypatch.setattr(bulkrun, "repair_apply", once)
    batch = run(batch)

    assert (batch.state, batch.done, batch.repaired) == ("cancelled", 1, 1)
    assert [row["outcome"] for row in report_rows(batch)] == ["repaired"] + ["not reached"] * 5
    bulk_undo(batch=batch, actor="alice", face="web", now=NOW)
    run(batch)
    assert dump(path) == before


def test_a_batch_that_waits_is_cancelled_at_once(source: Source) -> None:
    batch = started()

    bulk_cancel(batch=batch, actor="alice", face="web", now=NOW)

    assert run(batch).state == "cancelled"
    assert not Repair.objects.exists()
    with pytest.raises(BulkRefused):
        bulk_cancel(batch=batch, actor="alice", face="web", now=NOW)


def test_a_session_that_fails_does_not_stop_the_others_and_is_retried_alone(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = bulkrun.repair_apply
    unlucky = Session.objects.filter(health="blocked").order_by("pk").first()

    def failing(**options: object) -> Repair:
        if options["session"] == unlucky:
            raise RuntimeError("no luck")
        return real(**options)

    monkeypatch.setattr(bulkrun, "repair_apply", failing)
    batch = run(started())
    monkeypatch.setattr(bulkrun, "repair_apply", real)

    assert (batch.state, batch.repaired, batch.failed) == ("done", 3, 1)
    again = run(bulk_retry(batch=batch, actor="alice", face="web", now=NOW))
    assert (again.total, again.repaired, again.failed) == (1, 1, 0)
    with pytest.raises(BulkRefused):
        bulk_retry(batch=again, actor="alice", face="web", now=NOW)


def test_stop_on_failure_stops(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(**options: object) -> Repair:
        raise RuntimeError("no luck")

    monkeypatch.setattr(bulkrun, "repair_apply", failing)
    batch = run(started(stop_on_failure=True))

    assert (batch.state, batch.failed, batch.done) == ("failed", 1, 1)


def test_a_repair_whose_session_changed_stays_when_the_batch_is_undone_and_says_why(source: Source, path: Path) -> None:
    batch = run(started())
    repaired = Repair.objects.filter(batch=batch).order_by("pk").first()
    assert repaired is not None
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE part SET data = replace(data, 'echo', 'ECHO') WHERE session_id = ?",
            (repaired.session_stored_id,),
        )

    bulk_undo(batch=batch, actor="alice", face="web", now=NOW)
    batch = run(batch)

    assert batch.state == "failed"
    assert "1 repair" in batch.error
    kept = [row["undo"] for row in report_rows(batch) if row["undo"].startswith("kept")]
    assert len(kept) == 1 and len(kept[0]) > len("kept: ")
    assert applied_count(batch) == 1


def test_a_batch_cannot_be_undone_while_it_runs_or_twice(source: Source) -> None:
    batch = started()
    with pytest.raises(BulkRefused):
        bulk_undo(batch=batch, actor="alice", face="web", now=NOW)

    run(batch)
    bulk_undo(batch=batch, actor="alice", face="web", now=NOW)
    run(batch)
    with pytest.raises(BulkRefused):
        bulk_undo(batch=batch, actor="alice", face="web", now=NOW)


def test_the_report_is_a_table_whose_cells_are_no_formulas(source: Source, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE session SET title = '=HYPERLINK(1)'")

    table = report_csv(run(started())).splitlines()

    assert table[0] == "session,stored_id,title,outcome,repair,rules,changes,why,undo"
    assert len(table) == 7
    assert sum("'=HYPERLINK(1)" in line for line in table) == 4


def test_a_chunk_writes_down_what_it_did_and_nothing_of_the_chunks_before(source: Source) -> None:
    batch = started()
    bulk_run(job_id=batch.pk, clock=timezone.now, seconds=0)
    before = BatchResult.objects.get().stored_id

    with CaptureQueriesContext(connection) as seen:
        bulk_run(job_id=batch.pk, clock=timezone.now, seconds=0)

    assert batch.results[0]["stored_id"] == before
    assert BatchResult.objects.count() == 2
    written = [query["sql"] for query in seen if query["sql"].startswith(("INSERT", "UPDATE"))]
    assert not [sql for sql in written if before in sql]


def test_a_chunk_is_short_and_the_next_goes_on_where_it_stopped(source: Source) -> None:
    batch = started()

    more = bulk_run(job_id=batch.pk, clock=timezone.now, seconds=0)

    batch.refresh_from_db()
    assert more and (batch.state, batch.done) == ("running", 1)
    assert batch.lease_until is None, "free for the next chunk"
    assert run(batch).repaired == 4


def test_what_is_left_over_is_named_at_the_next_start_and_a_lease_ends_where_nobody_else_works(
    source: Source,
) -> None:
    batch = started()
    now = timezone.now()

    RepairBatch.objects.filter(pk=batch.pk).update(state="running", lease_until=now + LEASE, heartbeat_at=now)
    assert jobs_abandoned(RepairBatch, now) == []
    assert jobs_abandoned(RepairBatch, now, alone=True) == [batch]
    assert run(batch).repaired == 4


def test_what_the_last_scan_found_clean_is_neither_read_nor_planned_unless_it_was_written_to(
    source: Source, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = bulkrun.repair_apply, []

    def noted(**options: object) -> Repair:
        asked.append(options["session"])
        return real(**options)

    monkeypatch.setattr(bulkrun, "repair_apply", noted)
    clean = list(Session.objects.exclude(health="blocked"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE part SET time_updated = 9 WHERE session_id = ?", (clean[0].stored_id,))

    batch = run(started())

    assert (batch.repaired, batch.skipped) == (4, 2)
    assert clean[0] in asked and clean[1] not in asked and len(asked) == 5
