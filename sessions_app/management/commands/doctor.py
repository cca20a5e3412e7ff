"""``suture doctor``: every store of this machine in one look."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app import __version__, stores
from sessions_app.management.base import FOUND_IT, SutureCommand, jobs_argument
from sessions_app.management.printing import Tone, Toned, counted
from sessions_app.services.doctoring import Checkup, States, checkup, store_states
from sessions_app.stores.base import Store, StoreError

_TONES: dict[str, Tone] = {"blocked": "bad", "unreadable": "bad", "at-risk": "warn", "healthy": "good"}
_SPACE = {
    "rows": "conversations",
    "events": "event log",
    "free": "free pages",
    "wal": "write-ahead log",
    "kept": "old files kept",
    "snapshots": "snapshots",
    "tool_output": "tool output",
    "logs": "logs",
}
_BAR = 40
"""Characters of the longest bar."""


class Command(SutureCommand):
    help = (
        "Look at every store of this machine: which clients made it, what takes the space, how its sessions are, who"
        " has it open, and what to do next. Nothing is written, and nothing private is in what it says."
    )
    examples = (
        ("suture doctor", "all stores that are found"),
        ("suture doctor --json > doctor.json", "to be sent to who supports you"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="*", metavar="PATH", help="stores; left out: all of this machine")
        parser.add_argument("--json", action="store_true", help="as JSON")
        jobs_argument(parser)

    def run(self, *, paths: list[str], json: bool, jobs: int, **options: Any) -> int:
        found = [Path(path) for path in paths] or stores.discover()
        if not found:
            raise StoreError("missing", "opencode.db", "No store of opencode was found on this machine.", "Name one.")
        looked = [self._look(path, jobs) for path in found]
        if json:
            self.result({"suture": __version__, "stores": [one.document() for one in looked]})
        else:
            for one in looked:
                self._in_words(one)
        return FOUND_IT if any(one.problem or one.states.health.get("blocked") for one in looked) else 0

    def _look(self, path: Path, jobs: int) -> Checkup:
        now = datetime.now(UTC)
        with self.err.progress(f"Scanning {path.name}") as meter:

            def scanned(store: Store) -> States:
                return store_states(store=store, now=now, jobs=jobs, told=meter.at, say=self.say)

            return checkup(path=path, look=scanned)

    def _in_words(self, one: Checkup) -> None:
        self.tell(Toned(one.path, "strong"), f"{one.kind}: {', '.join(one.dialects)}" if one.kind else "")
        if one.problem:
            self.tell(Toned(f"  {one.problem}", "bad"))
        else:
            made = ", ".join(f"{version} ({count:,})" for version, count in list(one.versions.items())[:8])
            self.tell(f"  {counted(one.sessions, 'session')}, made by {made or 'nobody yet'}")
            states = one.states
            counts = {**states.health, "not listed by the client": states.hidden, "refused lately": states.refused}
            told = ((Toned(f"{count:,}", _TONES.get(name, "")), name) for name, count in counts.items() if count)
            self.out.rows(told, indent=4)
        self._space(one)
        self.out.rows(((f"{count:,}", rule) for rule, count in one.found.items()), indent=4)
        if one.in_use:
            self.tell(f"  Open in {', '.join(one.in_use)}")
        for command, why in one.next:
            self.tell("  Next:", Toned(command, "strong"), Toned(why, "quiet"))
        self.tell("")

    def _space(self, one: Checkup) -> None:
        """The sizes, as bars too where somebody sees them."""
        taken = {name: size for name, size in asdict(one.space).items() if size}
        most = max(taken.values(), default=1)
        bars = {name: "█" * round(_BAR * size / most) if self.out.terminal else "" for name, size in taken.items()}
        rows = [(_SPACE[name], f"{size / 1e6:,.1f} MB", bars[name]) for name, size in taken.items()]
        self.out.rows(rows, indent=4)
