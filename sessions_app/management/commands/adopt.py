"""``suture adopt``: bring sessions of a storage tree, an export or an older database into the database the client reads
now."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app import stores
from sessions_app.management.base import FOUND_IT, SutureCommand, open_path, path_argument, session_argument
from sessions_app.services.handback.adopting import adopt
from sessions_app.services.repair.clients import named


class Command(SutureCommand):
    help = (
        "Bring sessions that the client no longer reads (a storage tree of 1.0 or 1.1, an export) into its database;"
        " with the database itself as PATH, make sessions anew of which only events are left. Undoable."
    )
    examples = (
        ("suture adopt ~/.local/share/opencode/storage --into opencode.db --dry-run", "what would come over"),
        ("suture adopt old.json --into opencode.db", "bring an export over"),
        ("suture adopt opencode.db --into opencode.db", "sessions of which only the events are left"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        parser.add_argument("--into", required=True, metavar="DB", help="the database that the client reads")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(self, *, path: str | None, session: list[str], into: str, dry_run: bool, json: bool, **options: Any) -> int:
        with open_path(path) as source, stores.open_store(Path(into), "sqlite") as target:
            holders = target.holders()
            if holders and not dry_run:
                self.say(f"{named(holders)} has {into} open.")
            with self.err.progress("Bringing sessions over"):
                outcomes = adopt(
                    source=source,
                    target=target,
                    session_ids=session,
                    actor="command",
                    now=datetime.now(UTC),
                    dry_run=dry_run,
                )
            for problem in source.problems:
                self.say(f"{problem.where}: {problem.reason}")
        if json:
            self.result({"into": into, "dry_run": dry_run, "sessions": [outcome.document() for outcome in outcomes]})
        else:
            for one in outcomes:
                size = f"{one.messages} messages, {one.parts} parts"
                self.tell(one.id, f"{one.title}: {one.outcome}, {size}. {one.why}".rstrip())
                left_out = ((f"left out: {left.table}", left.id, left.reason) for left in one.left_out)
                self.out.rows(left_out, indent=2)
                if one.repair:
                    self.tell(f"  take it out again with: suture undo {one.repair}")
            if not outcomes:
                self.tell("There is no session to bring in.")
        return FOUND_IT if any(one.outcome in ("refused", "unreadable") for one in outcomes) else 0
