"""``suture backups``: the full backups that there are."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from sessions_app.management.base import SutureCommand
from sessions_app.services.keeping import backup_document, backups_kept


class Command(SutureCommand):
    help = "List the full backups, newest first; put one back with: suture restore BACKUP PATH."
    examples = (
        ("suture backups", "every full backup"),
        ("suture backups customer.db --json", "those of one database, for programs"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", metavar="PATH", help="only those of this database")
        parser.add_argument("--json", action="store_true", help="the list as JSON")

    def run(self, *, path: str | None, json: bool, **options: Any) -> int:
        found = backups_kept(Path(path) if path else None)
        if json:
            self.result({"backups": [backup_document(backup) for backup in found]})
            return 0
        for backup in found:
            made = f"{backup.made_at:%Y-%m-%d %H:%M}"
            self.tell(f"{made}  {backup.kind:<14}  {backup.size / 1e6:9,.1f} MB  {backup.path}")
            if backup.of:
                self.tell(f"{'':18}of {backup.of}")
        if not found:
            self.say("There are no full backups.")
        return 0
