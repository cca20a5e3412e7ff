"""``suture bulk-repair``: repair many imported sessions as one batch with one undo."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils import timezone

from sessions_app.domain.wish import Wish
from sessions_app.management import declared
from sessions_app.management.base import FOUND_IT, SutureCommand
from sessions_app.models import RepairBatch
from sessions_app.selectors.bulk import report_rows
from sessions_app.selectors.filters import SessionFilter
from sessions_app.services.bulk import BulkNothing, BulkRefused, Selection, bulk_start, bulk_undo
from sessions_app.services.bulkpreview import BulkPreview, bulk_preview
from sessions_app.services.bulkrun import bulk_run
from sessions_app.services.database import database_prepare
from sessions_app.services.jobs import jobs_abandoned
from sessions_app.services.repair.recover import repairs_recover
from sessions_app.services.workers import worker_is_alive


class Command(declared.BulkRepair, SutureCommand):
    def run(self, *, json: bool, dry_run: bool, resume: UUID | None, undo: UUID | None, **options: Any) -> int:
        database_prepare()
        try:
            if dry_run:
                return self._tell_preview(_preview(options), json)
            return self._finish(_batch(resume, undo, options), json)
        except BulkRefused as refusal:
            self.say(str(refusal))
            return 0 if isinstance(refusal, BulkNothing) else FOUND_IT

    def _tell_preview(self, preview: BulkPreview, json: bool) -> int:
        if json:
            rules = [
                {"rule": line.rule, "sessions": line.sessions, "taken": line.taken, "why": line.why}
                for line in preview.rules
            ]
            skipped = [{"why": skip.why, "sessions": skip.sessions} for skip in preview.skipped]
            names = ("total", "repairable", "freed", "still_blocked", "unjudged")
            numbers = {name: getattr(preview, name) for name in names}
            self.result({**numbers, "rules": rules, "skipped": skipped})
            return 0
        self.tell(f"{preview.words}. {preview.sentence}.")
        planned = [
            (str(line.sessions), line.rule, "repaired" if line.taken else f"left alone, {line.why}")
            for line in preview.rules
        ]
        passed = [(str(skip.sessions), "skipped", skip.why) for skip in preview.skipped]
        self.out.rows([*planned, *passed], head=("Sessions", "Rule", "What becomes of it"), indent=2)
        return 0

    def _finish(self, batch: RepairBatch, json: bool) -> int:
        with self.err.progress("Repairing", batch.total) as meter:
            try:
                while bulk_run(job_id=batch.pk, clock=timezone.now):
                    batch.refresh_from_db()
                    meter.at(batch.done, batch.total)
            except KeyboardInterrupt as stopped:
                stopped.add_note(f"go on with: suture bulk-repair --resume {batch.public_id}")
                raise
        batch.refresh_from_db()
        counts = {"repaired": batch.repaired, "skipped": batch.skipped, "failed": batch.failed}
        if json:
            sessions = [row for row in report_rows(batch) if row["outcome"] != "nothing"]
            self.result({"batch": str(batch.public_id), "state": batch.state, **counts, "sessions": sessions})
        else:
            self.tell(
                f"Batch {batch.public_id} is {batch.get_state_display().lower()}: {batch.repaired} repaired,"
                f" {batch.skipped} skipped, {batch.failed} failed."
            )
            if batch.error:
                self.tell(batch.error)
            if batch.repaired and batch.state == RepairBatch.State.DONE:
                self.tell(f"Take it back with: suture bulk-repair --undo {batch.public_id}")
        return FOUND_IT if batch.failed or batch.state == RepairBatch.State.FAILED else 0


def _preview(options: dict[str, Any]) -> BulkPreview:
    return bulk_preview(selection=_selection(options), wish=_wish(options), now=timezone.now(), samples=0)


def _batch(resume: UUID | None, undo: UUID | None, options: dict[str, Any]) -> RepairBatch:
    now = timezone.now()
    number = undo or resume
    if number is None:
        return bulk_start(
            selection=_selection(options),
            wish=_wish(options),
            stop_on_failure=options["stop_on_failure"],
            reason=options["reason"],
            actor="command",
            face="command",
            now=now,
        )
    batch = RepairBatch.objects.filter(public_id=number).first()
    if batch is None:
        raise ValueError(f"There is no batch {number}.")
    if undo is not None:
        bulk_undo(batch=batch, actor="command", face="command", now=now)
    elif worker_is_alive(now=now):
        raise BulkRefused("A worker is running; it goes on with every unfinished batch by itself.")
    else:
        repairs_recover(now=now)
        jobs_abandoned(RepairBatch, now, alone=True)
    return batch


def _selection(options: dict[str, Any]) -> Selection:
    return Selection(filter=SessionFilter.understood(QueryDict(options["filter"])))


def _wish(options: dict[str, Any]) -> Wish:
    return Wish.of(rules=options["rule"], safety=options["safety"], force=options["force"])
