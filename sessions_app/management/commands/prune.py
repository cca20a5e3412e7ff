"""``suture prune``: delete what the settings no longer keep."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sessions_app.management import declared
from sessions_app.management.base import SutureCommand
from sessions_app.services.pruning import keeping_prune


class Command(declared.Prune, SutureCommand):
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
