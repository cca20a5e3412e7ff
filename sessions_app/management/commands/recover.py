"""``suture recover``: save what can be saved of a damaged database into a new file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from sessions_app.management.base import FOUND_IT, SutureCommand
from sessions_app.services.handback.recovery import file_recover, recovered_words


class Command(SutureCommand):
    help = "Recover a damaged database into a new file. The old file is only read; rows lost are counted per session."
    examples = (("suture recover damaged.db saved.db", "the old file is only read"),)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", help="the damaged database; keep its -wal beside it")
        parser.add_argument("out", metavar="OUT", help="the new file, which must not exist")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(self, *, path: str, out: str, json: bool, **options: Any) -> int:
        try:
            with self.err.progress("Recovering"):
                result = file_recover(path=Path(path), destination=Path(out))
        except FileExistsError:
            raise ValueError(f"{out} exists already; a recovery only writes a new file.") from None
        if json:
            self.result(
                {
                    "path": path,
                    "output": out,
                    "method": result.method,
                    "rows": result.rows,
                    "lost": result.lost,
                    "unplaced": result.unplaced,
                    "notes": list(result.notes),
                }
            )
        else:
            for words in recovered_words(result):
                self.tell(words)
            lost = sorted(result.lost.items(), key=lambda one: (-one[1], one[0]))
            self.out.rows(((session_id, f"{count} rows lost") for session_id, count in lost), indent=2)
            self.tell(f"Written to {out}. Scan it next: suture scan {out}")
        return FOUND_IT if result.lost else 0
