"""``suture slim``: a store without superseded events and free pages."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app.management.base import SutureCommand, found
from sessions_app.management.printing import counted
from sessions_app.services.slimming import MOST_DAYS, Preview, Slimming, file_slim, slim_preview
from sessions_app.stores.replacing import kept_forget

_NAMED = 20
"""Sessions left whole that are named; --json names all."""


class Command(SutureCommand):
    help = (
        "Write a store without the superseded rows of its event log and without free pages; every session, message and"
        " part stays byte for byte. Without --output or --in-place: what that would free."
    )
    examples = (
        ("suture slim", "what takes the space in opencode's own database, and what would be freed"),
        ("suture slim opencode.db --output small.db", "into a new file; the old one is only read"),
        ("suture slim opencode.db --in-place", "put that in its place; the old file is kept beside it"),
        ("suture slim opencode.db --forget-old", "all is well: delete the old file"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", metavar="PATH", help="a database; left out: opencode's own")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--output", metavar="NEW.db", help="write it to this new file")
        how.add_argument("--in-place", action="store_true", help="put it in the place of PATH, and keep the old file")
        how.add_argument("--forget-old", action="store_true", help="delete the old files that --in-place kept")
        parser.add_argument(
            "--keep-days", type=_days, default=0, metavar="N", help="keep all events of the last N days"
        )
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(
        self,
        *,
        path: str | None,
        output: str | None,
        in_place: bool,
        forget_old: bool,
        keep_days: int,
        json: bool,
        **options: Any,
    ) -> int:
        store, now = found(path), datetime.now(UTC)
        if output is not None and Path(output).exists():
            raise ValueError(f"{output} exists already; choose another name.")
        if forget_old:
            return self._forget(store, json=json)
        with self.err.progress("Looking") as meter:

            def progress(words: str, done: int, total: int) -> None:
                meter.at(done, total, words)

            if not in_place and output is None:
                preview = slim_preview(path=store, now=now, keep_days=keep_days, progress=progress, most=0)
                report: Preview | Slimming = preview
            else:
                place = Path(output) if output is not None else None
                report = file_slim(path=store, output=place, now=now, keep_days=keep_days, progress=progress)
        for words in report.warnings:
            self.say(words)
        if json:
            self.result(report.document())
        elif isinstance(report, Preview):
            self._preview(store, report)
        else:
            self._done(store, report)
        return 0

    def _preview(self, store: Path, preview: Preview) -> None:
        known = preview.sizes
        self.tell(f"{store}: {_size(known.file)}, of which {_size(known.events)} event log, {_size(known.free)} free.")
        self.tell(f"Slimmed it would have about {_size(preview.left)}; {_size(preview.freed)} would be freed.")
        self._stays(preview)
        for file, size in preview.kept:
            self.tell(f"An old file is kept: {file} ({_size(size)}); delete it with --forget-old.")
        if preview.in_use:
            self.tell(preview.in_use)
        self.tell("Nothing was written: name --output NEW.db, or --in-place.")

    def _done(self, store: Path, made: Slimming) -> None:
        self.tell(f"{made.path}: {_size(made.after)}, was {_size(made.before)}.")
        self.tell(f"{made.removed:,} of {made.events:,} events are gone; all else was compared, and is the same.")
        self._stays(made)
        if made.kept:
            self.tell(f"The old file is kept in {made.kept}")
            self.tell(f"When all is well, delete it with: suture slim {store} --forget-old")
            self.tell(f"To go back to it: suture restore {made.kept} {store}")

    def _stays(self, report: Preview | Slimming) -> None:
        """Which events stay, and why."""
        if report.strange:
            self.tell(f"{_size(report.strange)} are events of the V2 line, which say what no row does; they stay.")
        whole = report.whole
        if whole:
            self.tell(f"The events of {counted(len(whole), 'session')} stay whole:")
        self.out.rows(whole[:_NAMED], indent=2)
        if len(whole) > _NAMED:
            self.tell(f"  and {len(whole) - _NAMED:,} more; --json names them.")

    def _forget(self, store: Path, *, json: bool) -> int:
        gone = kept_forget(store)
        if json:
            self.result({"deleted": [{"path": str(file), "bytes": size} for file, size in gone]})
            return 0
        for file, size in gone:
            self.tell(f"Deleted {file} ({_size(size)}).")
        if not gone:
            self.tell("No old file is kept.")
        return 0


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_DAYS:
        raise ArgumentTypeError(f"{text!r} is no number of days up to {MOST_DAYS}")
    return int(text)


def _size(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
