"""``suture export``: one session as a row document, Suture's own lossless form."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from sessions_app.domain import rowdoc
from sessions_app.management.base import (
    SutureCommand,
    one_session,
    open_path,
    path_argument,
    session_argument,
)


class Command(SutureCommand):
    help = "Write a session as a row document: every row as stored, one JSON document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        parser.add_argument(
            "--as", dest="form", choices=("rows",), default="rows", help="the form (default: %(default)s)"
        )
        parser.add_argument("--output", metavar="FILE", help="left out: stdout")

    def run(self, *, path: str | None, session: list[str], output: str | None, **options: Any) -> int:
        with open_path(path) as store:
            document = rowdoc.dump(store.read(one_session(store, session)))
        if output is None:
            self.stdout.write(document)
        else:
            Path(output).write_text(document + "\n", encoding="utf-8")
            self.say(f"Written to {output}.")
        return 0
