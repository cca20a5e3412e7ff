"""``suture prune``: delete what the settings no longer keep."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from sessions_app.management.base import SutureCommand
from sessions_app.services.pruning import keeping_prune


class Command(SutureCommand):
    help = "Delete old backups, restore points and task results, as the settings say. The worker does it daily."
    examples = (("suture prune --dry-run", "what would be deleted"),)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be deleted; delete nothing")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(self, *, dry_run: bool, json: bool, **options: Any) -> int:
        pruned = keeping_prune(now=datetime.now(UTC), dry_run=dry_run)
        if json:
            self.result({"dry_run": dry_run, **pruned.document()})
            return 0
        for backup in pruned.backups:
            self.tell(f"  backup {backup.path}")
        for repair in pruned.restore_points:
            self.tell(f"  restore point {repair}")
        for file in pruned.files:
            self.tell(f"  half-made file {file}")
        self.tell(
            f"{'Would delete' if dry_run else 'Deleted'}: {len(pruned.backups)} backups ({pruned.size / 1e6:,.1f} MB),"
            f" {len(pruned.restore_points)} restore points, {len(pruned.files)} half-made files,"
            f" {pruned.tasks} task results, {pruned.web_sessions} web sessions"
        )
        return 0
