"""``suture restore``: put a full backup back."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app.management.base import SutureCommand
from sessions_app.services.datadir import backups_dir
from sessions_app.stores.backup import restore


class Command(SutureCommand):
    help = "Put a full backup back in place of a database. What was written to the database since the backup is lost."
    examples = (("suture restore BACKUP customer.db", "repair printed where the backup is"),)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("backup", metavar="BACKUP", help="the full backup of a database")
        parser.add_argument("path", metavar="PATH", help="the database to replace")
        parser.add_argument(
            "--force",
            action="store_true",
            help="even while another process has it open, or where the backup seems to be of another database",
        )

    def run(self, *, backup: str, path: str, force: bool, **options: Any) -> int:
        restored = restore(Path(backup), Path(path), directory=backups_dir(), now=datetime.now(UTC), force=force)
        self.tell(restored.words)
        if restored.previous is not None:
            self.tell(f"The state before is kept in {restored.previous}")
        return 0
