"""``suture repairs``: the restore points that there are."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app.management.base import SutureCommand
from sessions_app.services.keeping import restore_points


class Command(SutureCommand):
    help = "List the repairs that were written to files, newest first; take one back with: suture undo REPAIR."
    examples = (
        ("suture repairs", "every repair that was written to a file"),
        ("suture repairs customer.db --json", "those of one store, for programs"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", metavar="PATH", help="only those of this store")
        parser.add_argument("--json", action="store_true", help="the list as JSON")

    def run(self, *, path: str | None, json: bool, **options: Any) -> int:
        found = restore_points(datetime.now(UTC), Path(path) if path else None)
        if json:
            self.result({"repairs": [point.document() for point in found]})
            return 0
        for point in found:
            state = f"undoes {point.undoes}" if point.undoes and point.state == "committed" else _WORDS[point.state]
            self.tell(f"{point.at[:16].replace('T', ' ')}  {point.id}  {point.rows:>5} rows  {state:<10}  {point.path}")
        if not found:
            self.say("No repairs were written.")
        return 0


_WORDS = {"prepared": "unsettled", "committed": "written", "undone": "undone", "failed": "not written"}
