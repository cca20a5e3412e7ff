"""What commands that need Django say of themselves: words, examples and arguments. ``--help``, a mistyped option and
the completion of a shell are answered out of this, without it."""

from __future__ import annotations

from argparse import ArgumentParser
from uuid import UUID

from .base import Arguments, path_argument, rules_arguments, session_argument, target_arguments

SCOPES = ("read", "repair", "administer")
"""``models.Scope`` by its values; a test holds the two together."""


class Serve(Arguments):
    help = "Serve the dashboard, with a background worker."
    examples = (
        ("suture serve", "opencode's own database"),
        ("suture serve customer.db export.json --port 8001", "these, elsewhere"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            nargs="*",
            metavar="PATH",
            help="what to attach; left out: opencode's own database, else samples",
        )
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)")
        parser.add_argument("--no-worker", action="store_true", help="the worker runs elsewhere: suture db_worker")
        parser.add_argument("--open", action="store_true", help="open the browser, signed in by the printed link")


class BulkRepair(Arguments):
    help = "Repair the imported sessions that a filter finds, as one batch that one --undo takes back."
    examples = (
        ("suture bulk-repair --filter 'health=blocked' --dry-run", "how many would be repaired, by which rules"),
        ("suture bulk-repair --filter 'health=blocked&rule=stuck-tool'", "repair them"),
        ("suture bulk-repair --undo BATCH", "take the whole batch back"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--filter",
            default="",
            metavar="QUERY",
            help="as in the address of the sessions page: health=blocked&rule=stuck-tool; left out: all sessions",
        )
        rules_arguments(parser)
        parser.add_argument("--reason", default="", help="kept with every repair")
        parser.add_argument("--stop-on-failure", action="store_true", help="stop at the first session that fails")
        parser.add_argument("--force", action="store_true", help="also close what a running client may be working on")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
        parser.add_argument("--resume", metavar="BATCH", type=UUID, help="go on with a batch that was interrupted")
        parser.add_argument("--undo", metavar="BATCH", type=UUID, help="take a whole batch back")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")


class Import(Arguments):
    help = "Attach databases, storage folders or exports, and import and scan their sessions."
    examples = (("suture import", "opencode's own database"), ("suture import customer.db storage/", "several sources"))

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="*", metavar="PATH", help="left out: opencode's own database")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")


class Sync(Arguments):
    help = "Read what changed in attached sources since they were last read."
    examples = (("suture sync", "all attached sources"), ("suture sync customer.db", "one of them"))

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="*", metavar="PATH", help="attached sources; left out: all of them")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")


class Search(Arguments):
    help = "Find imported sessions by what stands in their conversations, the last updated first."
    examples = (
        ("suture search tool result missing", "all words in one place, each from its beginning"),
        ("suture search '\"max tokens\"' --source customer.db --json", "a phrase, in one store, for programs"),
        ("suture search toolu_01AbC", "an id: of a session, message, part or call"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("words", nargs="+", metavar="WORDS", help='what to find; "a phrase" in double quotes')
        parser.add_argument(
            "--source", action="append", default=[], metavar="SOURCE", help="only there: number or PATH of a source"
        )
        parser.add_argument("--limit", type=int, default=50, metavar="N", help="sessions (default: %(default)s)")
        parser.add_argument("--all", action="store_true", help="read all that is stored, whole outputs too: slow")
        parser.add_argument("--json", action="store_true", help="what was found as JSON")


class Token(Arguments):
    help = "Make, list and revoke tokens of the REST API."
    examples = (
        ("suture token create nightly --scope read --scope repair", "for a program that lists and repairs"),
        ("suture token list", "what opens something, and when it was last used"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="create|list|revoke", help="what to do")
        create = acts.add_parser("create", help="make a token and print it, once")
        create.add_argument("name", help="by which it is known in lists")
        create.add_argument("--user", default="", help="whose it is (default: the user of serve on loopback)")
        create.add_argument(
            "--scope", action="append", choices=SCOPES, help="may be given several times; left out: read"
        )
        create.add_argument(
            "--source",
            action="append",
            metavar="NUMBER|PATH",
            help="only this source; may be given several times; left out: all, also later ones",
        )
        create.add_argument("--days", default="90", metavar="N|never", help="how long it opens (default: %(default)s)")
        shown = acts.add_parser("list", help="the tokens that open something")
        shown.add_argument("--all", action="store_true", help="also those that were revoked or are too old")
        revoke = acts.add_parser("revoke", help="from now on it opens nothing")
        revoke.add_argument("number", type=int, help="as list shows it")
        for act in (create, shown, revoke):
            act.add_argument("--json", action="store_true", help="as JSON")


class Prune(Arguments):
    help = "Delete old backups, restore points and task results, as the settings say. The worker does it daily."
    examples = (("suture prune --dry-run", "what would be deleted"),)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be deleted; delete nothing")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")


class Probe(Arguments):
    help = "Ask the provider whether it accepts a session now. Nothing is sent without --send."
    examples = (
        ("suture probe customer.db --session ses_...", "where it would be sent, and how much"),
        ("suture probe customer.db --session ses_... --as-repaired --send", "ask, with the safe repairs applied"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        parser.add_argument(
            "--as-repaired",
            action="store_true",
            help="with the safe repairs applied to what is sent, not to PATH",
        )
        parser.add_argument("--send", action="store_true", help="send it; otherwise only say what would be sent where")
        parser.add_argument("--payload", metavar="FILE", help="write the bytes that are (or would be) sent")
        parser.add_argument("--json", action="store_true", help="the answer as JSON")


class Compact(Arguments):
    help = "Summarise a session through the configured model and write the compaction. Nothing is sent without --send."
    examples = (
        ("suture compact customer.db --session ses_...", "where it would be sent, and how much"),
        ("suture compact customer.db --session ses_... --send --dry-run", "make the summary and show it"),
        ("suture compact customer.db --session ses_... --send", "write it"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        parser.add_argument("--send", action="store_true", help="send it; otherwise only say what would be sent where")
        parser.add_argument("--dry-run", action="store_true", help="make the summary and show it; write nothing")
        parser.add_argument("--output", metavar="FILE", help="write to a copy, of the same kind as PATH")
        parser.add_argument("--force", action="store_true", help="also while a running client has the file open")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON")


class Worker(Arguments):
    """Beside what its class in ``django_tasks_db`` takes, which works and is not told."""

    help = "Run the background worker: imports, scans and bulk repairs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--take-over",
            action="store_true",
            help="this is the only worker: take up at once what an earlier one left unfinished",
        )

    def fill(self, parser: ArgumentParser) -> None:
        self.add_arguments(parser)  # the others are Django's


DECLARED: dict[str, type[Arguments]] = {
    "serve": Serve,
    "bulk-repair": BulkRepair,
    "import": Import,
    "sync": Sync,
    "search": Search,
    "token": Token,
    "prune": Prune,
    "probe": Probe,
    "compact": Compact,
    "db_worker": Worker,
}
