"""``suture relink``: file sessions where their client looks for them, or say why it does not list them."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from sessions_app.domain.handback.relink import relink_operations
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import Operation, OperationError
from sessions_app.domain.wish import Wish
from sessions_app.management.base import FOUND_IT, SutureCommand, open_path, path_argument, session_argument
from sessions_app.management.printing import Toned, counted
from sessions_app.services.handback.storereport import store_hidden
from sessions_app.services.repair.bench import OpenStore
from sessions_app.services.repair.files import file_repair
from sessions_app.services.storefacts import is_native
from sessions_app.stores.base import Store


class Command(SutureCommand):
    help = (
        "Show which sessions the client does not list and why; with --session, file one where the client looks for it."
    )
    examples = (
        ("suture relink", "which sessions are not listed, and why"),
        ("suture relink --session ses_... --directory ~/project", "file one where the client looks for it"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        parser.add_argument(
            "--directory",
            default="",
            metavar="DIR",
            help="the folder it belongs to; left out: the one it has",
        )
        parser.add_argument("--keep-archived", action="store_true", help="leave archived sessions in the archive")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")

    def run(
        self,
        *,
        path: str | None,
        session: list[str],
        directory: str,
        keep_archived: bool,
        dry_run: bool,
        json: bool,
        **options: Any,
    ) -> int:
        now = datetime.now(UTC)
        if directory and len(session) != 1:
            raise ValueError("A directory is for one session: name it with --session.")
        with open_path(path) as store:
            if not session:
                return self._hidden(store, native=path != "-" and is_native(store.path), now=now, json=json)

            def ask(rows: SessionRows) -> tuple[Operation, ...]:
                return relink_operations(rows, directory, unarchive=not keep_archived)

            try:
                report = file_repair(store=store, wish=Wish(), ask=ask, session_ids=session, now=now, dry_run=dry_run)
            except OperationError as problem:
                raise ValueError(str(problem)) from problem
        if json:
            self.result(report.document())
        else:
            for change in report.changes:
                assert change.before is not None and change.after is not None
                for column, value in change.after.items():
                    if change.before[column] != value:
                        self.tell(f"{change.key['id']}: {column} {change.before[column]!r} becomes {value!r}")
            if not report.changes:
                self.tell("It is filed where its client looks for it.")
            for repair in report.repairs:
                self.tell(f"Take it back with: suture undo {repair}")
        return 0 if all(one.outcome not in ("refused", "unreadable") for one in report.sessions) else FOUND_IT

    def _hidden(self, store: Store, *, native: bool, now: datetime, json: bool) -> int:
        whole = OpenStore(store, now, native, agents=False)
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
