"""Bulk repairs for pages, API and reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from sessions_app.models import BatchResult, Repair, RepairBatch, Session

COLUMNS = BatchResult.COLUMNS
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def batch_document(batch: RepairBatch) -> dict[str, Any]:
    """State and progress of a batch; without the results of its sessions, which may be thousands."""
    return {
        "id": batch.public_id,
        "state": batch.state,
        "filter": batch.filter if "ids" not in batch.filter else {"ids": len(batch.filter["ids"])},
        "options": {**batch.options, "face": batch.face},
        "reason": batch.reason,
        "actor": batch.actor,
        "total": batch.total,
        "done": batch.done,
        "repaired": batch.repaired,
        "skipped": batch.skipped,
        "failed": batch.failed,
        "to_undo": applied_count(batch),
        "error": batch.error,
        "created_at": batch.created_at,
        "started_at": batch.started_at,
        "finished_at": batch.finished_at,
    }


def applied_count(batch: RepairBatch) -> int:
    """Repairs of the batch that stand: what its undo would take back."""
    return Repair.objects.filter(batch=batch, undoes=None, state=Repair.State.APPLIED).count()


def still_blocked_count(batch: RepairBatch) -> int:
    """Sessions that the batch repaired and that something else still blocks."""
    standing = Repair.objects.filter(batch=batch, undoes=None, state=Repair.State.APPLIED)
    return standing.filter(session__health=Session.Health.BLOCKED).count()


def report_rows(batch: RepairBatch) -> Iterator[dict[str, Any]]:
    """What came of each session, in the order they were handled; those not reached yet last."""
    reached = 0
    for row in batch.rows.order_by("place").values(*COLUMNS).iterator():
        reached += 1
        yield row
    for number in batch.session_ids[reached:]:
        yield dict.fromkeys(COLUMNS, "") | {
            "session": number,
            "outcome": "not reached",
            "rules": [],
            "changes": 0,
        }


def report_csv(batch: RepairBatch) -> str:
    """The report for a spreadsheet: a cell that a spreadsheet would take for a formula is led by an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in report_rows(batch):
        writer.writerow([_cell(" ".join(value) if isinstance(value := row[name], list) else value) for name in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
