"""What Suture's commands share: PATH, targets, exit codes, results on stdout and messages on stderr
(docs/commands.md)."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app import stores
from sessions_app.domain.model import Session
from sessions_app.domain.near import did_you_mean
from sessions_app.domain.rowcodec import to_text
from sessions_app.domain.wire.target import Target, Thinking, parse_target
from sessions_app.services.refusals import BUSY_WORDS, own_database_busy, store_answer
from sessions_app.stores.base import Store, StoreError

FOUND_IT = 1
"""scan found it; repair refused or incomplete; probe refused."""

BAD_USAGE = 2
"""Bad usage or unreadable input."""

_REPEATABLE = "may be given several times"


class SutureCommand(BaseCommand, ABC):
    """A command whose failures are one line on stderr and the exit codes of docs/commands.md. Subclasses implement
    ``run``."""

    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser, whose errors say what was probably meant."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        options = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
        plain = parser.error

        def error(message: str) -> NoReturn:
            plain(message + _meant(message, options))
            raise SystemExit(BAD_USAGE)

        parser.error = error  # type: ignore[method-assign]
        return parser

    @abstractmethod
    def run(self, *args: Any, **options: Any) -> int:
        """Do it; gives the exit code."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            code = self.run(**options)
        except StoreError as problem:
            raise CommandError(
                f"{problem.path}: {problem.words} {problem.next_step}".strip(),
                returncode=store_answer(problem.kind).code,
            ) from problem
        except ValueError as problem:
            raise CommandError(str(problem), returncode=BAD_USAGE) from problem
        except BrokenPipeError:
            # Whoever read our output has seen enough; Python must not complain again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except Exception as problem:
            if not isinstance(problem, OSError):
                if not own_database_busy(problem):
                    raise
                raise CommandError(BUSY_WORDS, returncode=FOUND_IT) from problem
            raise CommandError(f"{problem.filename or 'file'}: {problem.strerror}", returncode=BAD_USAGE) from problem
        if code:
            sys.exit(code)

    def result(self, value: Any) -> None:
        """A JSON result on stdout, one line."""
        self.stdout.write(to_text(value))

    def say(self, text: str) -> None:
        """A message on stderr."""
        self.stderr.write(printable(text))

    def tell(self, text: str) -> None:
        """A result in words on stdout."""
        self.stdout.write(printable(text))


def _meant(message: str, options: Sequence[str]) -> str:
    """What argparse's words about an option or a choice leave out: the one that was probably meant."""
    choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
    if choice is not None:
        return did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2]))
    if not message.startswith("unrecognized arguments"):
        return ""
    named = re.findall(r"--[\w-]+", message)
    return "".join(did_you_mean(name, options) for name in named[:1])


def printable(text: str) -> str:
    """Text for a terminal: stored text must not steer it (escape sequences), and every character must be encodable."""
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)


def path_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="a database, a storage folder, an export or a row document; - reads an export or row document from stdin; "
        "left out: opencode's own database",
    )


def session_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--session", action="append", default=[], metavar="ID", help=f"only this session; {_REPEATABLE}"
    )


def target_arguments(parser: ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument(
        "--target",
        default="",
        required=required,
        metavar="PROTOCOL[:PROVIDER/MODEL]",
        help="what the next call goes to; left out: the session's own",
    )
    parser.add_argument("--thinking", choices=("on", "off", "auto"), default="auto")


def session_target(text: str, thinking: Thinking, decoded: Session) -> Target | None:
    """The target a command line names, None = the session's own. Raises ``ValueError`` with words."""
    return parse_target(text, thinking, decoded) if text else None


@contextmanager
def open_path(path: str | None) -> Iterator[Store]:
    """The store that PATH names. Raises ``StoreError``."""
    if path != "-":
        with stores.open_store(found(path)) as store:
            yield store
        return
    folder = tempfile.mkdtemp(prefix="suture-")
    try:
        document = Path(folder) / "stdin.json"
        with document.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with stores.open_store(document) as store:
            yield store
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def found(path: str | None) -> Path:
    """PATH, or opencode's own database. Raises ``StoreError`` where there is none."""
    if path is not None:
        return Path(path)
    known = stores.discover()
    if not known:
        raise StoreError("missing", "opencode.db", "No database of opencode was found on this machine.", "Name one.")
    return known[0]


def one_session(store: Store, named: Sequence[str]) -> str:
    """The session named, or the only one there is. Raises ``ValueError`` where that is not clear."""
    if len(named) == 1:
        return named[0]
    if named:
        raise ValueError("Name one session.")
    first = store.session_ids()
    if len(first) != 1:
        raise ValueError(
            "This store holds no session."
            if not first
            else "This store holds several sessions; name one with --session."
        )
    return str(first[0])
