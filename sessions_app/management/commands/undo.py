"""``suture undo``: take a repair back."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sessions_app.domain.repair import RowChange
from sessions_app.management.base import FOUND_IT, SutureCommand
from sessions_app.services.actor import Actor
from sessions_app.services.datadir import database_may_be_there
from sessions_app.services.repair.files import entry_undo
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.write import journal, journal_recover

if TYPE_CHECKING:
    from sessions_app.models import Repair


class Command(SutureCommand):
    help = "Take a repair back: every row it changed becomes what it was, unless it was changed again since."
    examples = (
        ("suture undo REPAIR --dry-run", "which rows would be put back; repair printed the name"),
        ("suture undo REPAIR", "put them back"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("repair", metavar="REPAIR", help="what the repair is called, rep_...")
        parser.add_argument("--dry-run", action="store_true", help="say what would be put back; write nothing")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(self, *, repair: str, dry_run: bool, json: bool, **options: Any) -> int:
        now = datetime.now(UTC)
        for told in journal_recover(now=now):
            self.say(told)
        try:
            entry = journal(now).get(repair)
        except KeyError:
            raise ValueError(f"The journal has no repair {repair}.") from None
        known = None if dry_run else _in_history(repair)
        try:
            if known is not None:
                from sessions_app.services.repair.undo import repair_undo

                undo = repair_undo(repair=known, actor=Actor(name="command", face="command"), now=now)
                changes = tuple(change.change for change in undo.changes.all())
            else:
                changes = entry_undo(entry=entry, now=now, dry_run=dry_run)
        except RepairRefused as refusal:
            if json:
                self.result(
                    {
                        "repair": repair,
                        "outcome": "refused",
                        "why": refusal.words,
                        "changed": list(refusal.changed),
                    }
                )
            self.say(refusal.words)
            return FOUND_IT
        if json:
            outcome = "would-undo" if dry_run else "undone"
            self.result(
                {
                    "repair": repair,
                    "outcome": outcome,
                    "path": entry.path,
                    "rows": [_row(change) for change in changes],
                }
            )
        else:
            self.out.rows((tuple(_row(change).values()) for change in changes), indent=2)
            self.tell(f"{'Would undo' if dry_run else 'Undone'}: {repair} in {entry.path}")
        return 0


def _in_history(name: str) -> Repair | None:
    """The repair as Suture's own database keeps it. Django is loaded only where there is one."""
    if not database_may_be_there():
        return None
    import django

    django.setup()
    from sessions_app.models import Repair
    from sessions_app.services.database import database_is_there

    return Repair.objects.filter(public_id=name).first() if database_is_there() else None


def _row(change: RowChange) -> dict[str, str]:
    action = "insert" if change.before is None else "delete" if change.after is None else "replace"
    return {
        "action": action,
        "table": change.table,
        "id": ",".join(str(value) for value in change.key.values()),
    }
