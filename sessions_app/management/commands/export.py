"""``suture export``: one session in any form that can be handed back."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app.domain.wish import LEVELS, Wish, choices_named
from sessions_app.management.base import (
    FOUND_IT,
    SutureCommand,
    one_session,
    open_path,
    path_argument,
    session_argument,
    target_arguments,
)
from sessions_app.management.writing import whole_file
from sessions_app.services.handback.forms import FORMS, HANDBACK, Form
from sessions_app.services.handback.handing import (
    HandBackRefused,
    Handed,
    HandOptions,
    handed,
    known_names,
)
from sessions_app.services.handback.storewide import WHOLE_FORMS, whole_handed
from sessions_app.services.refusals import repair_answer
from sessions_app.services.repair.bench import Bench, OpenStore
from sessions_app.services.storefacts import is_native
from sessions_app.stores.base import Store

_BINARY = ("database", "tree")
_ABOUT = ("report", "bundle")
"""Told about a session, and no session to go on with."""


class Command(SutureCommand):
    help = (
        "Write a session for handing back: "
        + "; ".join(f"{form}: {HANDBACK[form].title.lower()}" for form in FORMS)
        + "."
    )
    examples = (
        ("suture export customer.db --session ses_... --as export --output repaired.json", "for opencode import"),
        ("suture export customer.db --session ses_... --as patch --output fix.sql", "SQL for the customer's own file"),
        ("suture export customer.db --session ses_... --as bundle --output bundle.json", "redacted, to be shared"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        parser.add_argument("--as", dest="form", choices=FORMS, default="rows", help="the form (default: %(default)s)")
        parser.add_argument("--output", metavar="FILE", help="left out: stdout")
        parser.add_argument("--as-stored", action="store_true", help="without repairing it first")
        parser.add_argument(
            "--rule",
            action="append",
            default=[],
            metavar="CODE",
            help="repair only this rule; may be given several times",
        )
        parser.add_argument("--finding", action="append", default=[], metavar="KEY", help="repair only this finding")
        parser.add_argument(
            "--choice",
            action="append",
            default=[],
            metavar="KEY=NAME",
            help="how a finding or a rule is repaired",
        )
        parser.add_argument("--all", action="store_true", help="the whole store: database, patch, undo or tree")
        parser.add_argument("--safety", choices=LEVELS, default="safe", help="how far that repair may go")
        parser.add_argument(
            "--same-ids",
            action="store_true",
            help="an export under the session's own ids, to be imported after deleting the session",
        )
        parser.add_argument("--children", action="store_true", help="an export with the subagents' sessions, as a zip")

    def run(self, *, path: str | None, session: list[str], form: Form, output: str | None, **options: Any) -> int:
        if output is None and (form in _BINARY or options["children"]) and sys.stdout.isatty():
            raise ValueError("This is a binary file; name an --output.")
        if output is not None and Path(output).exists():
            raise ValueError(f"{output} exists already; choose another name.")
        wish = Wish.of(
            rules=options["rule"],
            findings=options["finding"],
            choices=choices_named(options["choice"]),
            safety=options["safety"],
            target=options["target"],
            thinking=options["thinking"],
        )
        handing = HandOptions(
            repaired=not options["as_stored"],
            fresh=not options["same_ids"],
            children=options["children"],
            secrets=True,
        )
        if options["all"] and (form not in WHOLE_FORMS or session):
            raise ValueError(f"--all hands the whole store back, as {', '.join(WHOLE_FORMS)}; without --session.")
        try:
            with (
                open_path(path, options["input"]) as store,
                self._handed(store, path, session, form, handing, wish, whole=options["all"]) as made,
            ):
                self._write(made, output)
        except HandBackRefused as refusal:
            self.say(refusal.words)
            return repair_answer(refusal.kind).code
        for note in made.notes:
            self.say(note)
        if output is not None:
            self.say(f"Written to {output}.")
        return FOUND_IT if made.outlook.blocked and form not in _ABOUT else 0

    def _handed(
        self,
        store: Store,
        path: str | None,
        session: list[str],
        form: Form,
        handing: HandOptions,
        wish: Wish,
        *,
        whole: bool,
    ) -> AbstractContextManager[Handed]:
        native = path != "-" and is_native(store.path)
        opened = OpenStore(store, datetime.now(UTC), native, agents=False)
        if whole:
            form_of_all = next(one for one in WHOLE_FORMS if one == form)
            return whole_handed(whole=opened, form=form_of_all, options=handing, wish=wish, name=store.path.name)
        bench = known_names(Bench(store.read(one_session(store, session)), wish, opened))
        return handed(bench=bench, form=form, options=handing, source=store.path.name)

    def _write(self, made: Handed, output: str | None) -> None:
        if output is not None:
            with whole_file(Path(output)) as file:
                if made.path is not None:
                    shutil.copyfile(made.path, file)
                else:
                    file.write_bytes(made.data)
        elif made.path is None:
            self.stdout.write(made.data.decode("utf-8", "surrogateescape"))
        else:
            with made.path.open("rb") as copy:
                shutil.copyfileobj(copy, sys.stdout.buffer)
