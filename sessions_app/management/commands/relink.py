"""``suture relink``: file sessions where their client looks for them, or say why it does not list them."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from sessions_app.domain.handback.relink import Move, whole_path
from sessions_app.domain.repair import RowChange
from sessions_app.management.base import FOUND_IT, SutureCommand, open_path, path_argument, session_argument
from sessions_app.management.printing import Toned, counted
from sessions_app.services.handback.relinking import Relinking, sessions_relink
from sessions_app.services.handback.storereport import store_hidden
from sessions_app.services.repair.bench import OpenStore
from sessions_app.services.repair.clients import named
from sessions_app.services.storefacts import is_native


class Command(SutureCommand):
    help = (
        "Show which sessions the client does not list and why; with --session, file them where the client looks; with"
        " --from and --to, all sessions of a folder that was moved."
    )
    examples = (
        ("suture relink", "which sessions are not listed, and why"),
        ("suture relink --session ses_... --directory ~/project", "file one where the client looks for it"),
        ("suture relink --from /home/ann/old --to /srv/new --dry-run", "the sessions of a folder that was moved"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        parser.add_argument(
            "--directory",
            default="",
            metavar="DIR",
            help="the folder they belong to; left out: the one they have, or where their project was moved to",
        )
        parser.add_argument("--from", dest="old", default="", metavar="OLD", help="a folder that was moved")
        parser.add_argument("--to", dest="new", default="", metavar="NEW", help="where it is now")
        parser.add_argument("--keep-archived", action="store_true", help="leave archived sessions in the archive")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(
        self,
        *,
        path: str | None,
        session: list[str],
        directory: str,
        old: str,
        new: str,
        keep_archived: bool,
        dry_run: bool,
        json: bool,
        **options: Any,
    ) -> int:
        if directory and (old or not session):
            raise ValueError("A directory is for sessions that are named: name them with --session.")
        if bool(old) != bool(new):
            raise ValueError("Name both folders: --from OLD --to NEW.")
        move = Move.of(old, new) if old else None
        with open_path(path) as store:
            whole = OpenStore(store, datetime.now(UTC), path != "-" and is_native(store.path), agents=path != "-")
            if not session and move is None:
                return self._hidden(whole, json=json)
            if whole.holders and not dry_run:
                self.say(f"{named(whole.holders)} has this file open.")
            report = sessions_relink(
                whole=whole,
                session_ids=session,
                directory=whole_path(directory) if directory else "",
                move=move,
                unarchive=not keep_archived,
                actor="command",
                dry_run=dry_run,
            )
        if json:
            self.result(report.document())
        else:
            self._in_words(report, old)
        return 0 if all(one.outcome not in ("refused", "unreadable") for one in report.sessions) else FOUND_IT

    def _in_words(self, report: Relinking, old: str) -> None:
        for change in report.changes:
            self._change_in_words(change)
        for one in report.sessions:
            if one.outcome == "refused":
                self.say(f"{one.id}: {one.why}")
        if not report.sessions:
            self.tell(f"No session is filed in {old}.")
        elif not report.changes and all(one.outcome == "nothing" for one in report.sessions):
            self.tell("It is filed where its client looks for it.")
        for repair in report.repairs:
            self.tell(f"Take it back with: suture undo {repair}")

    def _change_in_words(self, change: RowChange) -> None:
        assert change.before is not None and change.after is not None
        for column, value in change.after.items():
            if change.before[column] != value:
                self.tell(f"{change.key['id']}: {column} {change.before[column]!r} becomes {value!r}")

    def _hidden(self, whole: OpenStore, *, json: bool) -> int:
        hidden: list[dict[str, Any]] = []
        with self.err.progress("Looking"):
            for rows, found in store_hidden(whole=whole):
                reasons = [{"rule": one.rule, "summary": one.summary} for one in found]
                hidden.append({"id": rows.id, "title": str(rows.session.get("title") or ""), "reasons": reasons})
        if json:
            self.result({"hidden": hidden})
            return 0
        for one in hidden:
            self.tell(one["id"], Toned(one["title"], "strong"))
            self.out.rows(((reason["rule"], reason["summary"]) for reason in one["reasons"]), indent=2)
        are = "is" if len(hidden) == 1 else "are"
        self.tell(f"{counted(len(hidden), 'session')} {are} not listed by the client, or not where they belong.")
        return 0
