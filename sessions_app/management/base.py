"""What Suture's commands share: their parser, PATH, targets, exit codes, results on stdout and messages on stderr
(docs/commands.md).

Nothing here needs Django: commands on bare files start without it (``catalog.COMMANDS`` says which do).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, HelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TextIO

from sessions_app import stores
from sessions_app.domain.knownmodels import input_said
from sessions_app.domain.model import V1, V2, Session
from sessions_app.domain.near import did_you_mean
from sessions_app.domain.rowcodec import to_text
from sessions_app.domain.wire.target import Target, Thinking, parse_target
from sessions_app.domain.wish import LEVELS
from sessions_app.services.refusals import own_database_trouble, store_answer
from sessions_app.stores.base import Store, StoreError

from .printing import Cell, Color, Page

FOUND_IT = 1
"""scan found it; repair refused or incomplete; probe refused."""

BAD_USAGE = 2
"""Bad usage or unreadable input."""

STDIN = "stdin.json"
"""The name of the file that holds what came from stdin."""

_REPEATABLE = "may be given several times"
_EXAMPLES = "examples:\n"


class Arguments:
    """What a command says of itself: words, examples and arguments. Those of a command that needs Django are in
    ``declared.py``."""

    help: ClassVar[str]
    examples: ClassVar[Sequence[tuple[str, str]]] = ()
    """Command lines and what they are for."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command's own arguments."""

    def fill(self, parser: ArgumentParser) -> None:
        """All arguments: the command's own, and those that every command has."""
        self.add_arguments(parser)
        parser.add_argument(
            "--color",
            choices=("auto", "always", "never"),
            default="auto",
            help="colours (default: on a terminal, unless NO_COLOR is set)",
        )
        parser.add_argument("--no-color", dest="color", action="store_const", const="never", help="the same as never")

    def create_parser(self, program: str, name: str) -> ArgumentParser:
        lines = "\n".join(f"  {line}\n      {words}" for line, words in self.examples)
        parser = _Parser(
            prog=f"{program} {name}",
            description=self.help,
            epilog=_EXAMPLES + lines if lines else None,
            formatter_class=_Formatter,
        )
        self.fill(parser)
        return parser


class SutureCommand(Arguments, ABC):
    """A command whose failures are one line on stderr and the exit codes of docs/commands.md. Subclasses implement
    ``run``."""

    def __init__(self) -> None:
        self._dress("auto")

    def _dress(self, color: Color) -> None:
        self.out, self.err = Page(sys.stdout, color), Page(sys.stderr, color)

    @abstractmethod
    def run(self, *args: Any, **options: Any) -> int:
        """Do it; gives the exit code."""

    def main(self, name: str, arguments: Sequence[str]) -> int:
        """Run one command line, without the command's name; gives the exit code."""
        options = vars(self.create_parser("suture", name).parse_args(arguments))
        self._dress(options.pop("color"))
        try:
            return self.run(**options)
        except StoreError as problem:
            self._failed(f"{problem.path}: {problem.words} {problem.next_step}".strip())
            return store_answer(problem.kind).code
        except ValueError as problem:
            self._failed(str(problem))
        except BrokenPipeError:
            # Whoever read our output has seen enough; Python must not complain again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except OSError as problem:
            self._failed(f"{problem.filename or 'file'}: {problem.strerror}")
        except Exception as problem:
            words = own_database_trouble(problem)
            if not words:
                raise
            self._failed(words)
            return FOUND_IT
        return BAD_USAGE

    def _failed(self, words: str) -> None:
        self.say(f"suture: {words}")

    @property
    def stdout(self) -> TextIO:
        return self.out.stream

    def result(self, value: Any) -> None:
        """A JSON result on stdout, one line."""
        self.data(to_text(value))

    def data(self, text: str) -> None:
        """A result for programs on stdout, as it is; a newline ends it."""
        self.stdout.write(text if text.endswith("\n") else f"{text}\n")

    def say(self, *cells: Cell) -> None:
        """A message on stderr."""
        self.err.line(*cells)

    def tell(self, *cells: Cell) -> None:
        """A result in words on stdout."""
        self.out.line(*cells)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"suture: {message}{self._meant(message)}. {self.prog} --help tells the options.\n")

    def _meant(self, message: str) -> str:
        """What argparse's words about an option or a choice leave out: the one that was probably meant."""
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice is not None:
            return did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2]))
        if not message.startswith("unrecognized arguments"):
            return ""
        options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        return "".join(did_you_mean(name, options) for name in re.findall(r"--[\w-]+", message)[:1])


class _Formatter(HelpFormatter):
    """Wraps the description, and leaves the examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(_EXAMPLES) else super()._fill_text(text, width, indent)


def untold(parser: ArgumentParser) -> None:
    """What is in the parser so far works and is not told: options that Django gives its commands."""
    for action in parser._actions:
        if "--help" not in action.option_strings:
            action.help = SUPPRESS


def rules_arguments(parser: ArgumentParser) -> None:
    """Which rules are repaired, and how far."""
    parser.add_argument(
        "--rule", action="append", default=[], metavar="CODE", help="only this rule; may be given several times"
    )
    parser.add_argument("--safety", choices=LEVELS, default="safe", help="how far a repair may go")


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
    parser.add_argument(
        "--thinking",
        choices=("on", "off", "auto"),
        default="auto",
        help="whether the model thinks in the next call; auto: as the session had it (default: %(default)s)",
    )
    parser.add_argument(
        "--input",
        default="",
        metavar="KINDS",
        help="what the model reads, as text,image,pdf (audio, video); left out: as the client's configuration has it",
    )


def history_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--history",
        default="",
        choices=(V1, V2),
        help="of a session that holds messages of both clients, those of this one (default: the newer ones)",
    )


def jobs_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=_count,
        default=0,
        metavar="N",
        help="how many processes (default: SUTURE_JOBS, else one a processor, and one for little)",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is no number of processes")
    return int(text)


def session_target(text: str, thinking: Thinking, decoded: Session) -> Target | None:
    """The target a command line names, None = the session's own. Raises ``ValueError`` with words."""
    return parse_target(text, thinking, decoded) if text else None


@contextmanager
def open_path(path: str | None, said: str = "") -> Iterator[Store]:
    """The store that PATH names, with the input that ``--input`` says. Raises ``StoreError``, and ``ValueError`` for an
    input that is none."""
    reads = input_said(said)
    if path != "-":
        with stores.open_store(found(path)) as store:
            for line in others_words(path, store):
                Page(sys.stderr, "auto").line(line)
            store.input = reads
            yield store
        return
    folder = os.path.realpath(tempfile.mkdtemp(prefix="suture-"))
    try:
        document = Path(folder) / STDIN
        with document.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with stores.open_store(document) as store:
            store.input = reads
            yield store
    except StoreError as problem:
        if not str(problem.path).startswith(folder):
            raise
        raise StoreError(problem.kind, "stdin", problem.words, problem.next_step) from problem
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


def others_words(path: str | None, opened: Store) -> list[str]:
    """What is said of stores beside the one that was opened, where no file was named: one of them may be the one that
    was meant."""
    if path is not None and not Path(path).is_dir():
        return []
    known = stores.discover() if path is None else stores.beside(Path(path))
    others = [one for one in known if one.resolve() != opened.path.resolve()]
    if not others:
        return []
    named = (f"  {one} ({_held(one)})" for one in others)
    return [f"This is {opened.path}. Other stores are here too; name one to look into it:", *named]


def _held(path: Path) -> str:
    try:
        with stores.open_store(path) as store:
            count = len(store.session_ids())
    except StoreError as problem:
        return problem.words
    return f"{count:,} session{'' if count == 1 else 's'}"


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
