"""Console script ``suture``: Suture's commands, and behind them Django's."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sessions_app import __version__
from sessions_app.domain.near import nearest
from sessions_app.management.catalog import COMMANDS, command, declared
from sessions_app.stopping import stopped_in_a_line
from sessions_app.streams import streams_told

BAD_USAGE = 2
_HELP = ("", "help", "-h", "--help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code.

    Bad usage ends through ``SystemExit``, and so do Django's own commands. A setting that cannot be read is bad usage
    (exit code 2, docs/commands.md), said in one line instead of a traceback.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sessions_app.settings")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stopped_in_a_line(), streams_told():
            return _run(given)
    except _djangos("django.core.exceptions", "ImproperlyConfigured") as problem:
        sys.stderr.write(f"suture: {problem}\n")
        return BAD_USAGE
    except _djangos("django.core.management.base", "CommandError") as problem:
        sys.stderr.write(f"suture: {problem}\n")
        return getattr(problem, "returncode", 1)


def _run(given: list[str]) -> int:
    if given in (["version"], ["--version"]):
        sys.stdout.write(f"suture {__version__}\n")
        return 0
    if " ".join(given) in _HELP:
        sys.stdout.write(_overview())
        return 0
    if given[0] == "help" and given[1] in COMMANDS:
        given = [given[1], "--help"]
    return _ours(given) if given[0] in COMMANDS else _others(given)


def _ours(given: list[str]) -> int:
    from sessions_app.management.base import SutureCommand

    if not COMMANDS[given[0]].bare and given[0] != "db_worker":
        declared(given[0]).create_parser("suture", given[0]).parse_args(given[1:])  # help and misuse need no Django
    found = command(given[0])
    if not isinstance(found, SutureCommand):
        found.run_from_argv(["suture", *given, "--traceback"])  # its errors come here, to be told as ours are
        return 0
    try:
        return found.main(given[0], given[1:])
    finally:
        if database := sys.modules.get("django.db"):
            database.connections.close_all()


def _others(given: list[str]) -> int:
    import django
    from django.core.management import execute_from_command_line, get_commands

    django.setup()  # else the commands of installed apps are not known yet
    asked = given[1] if given[0] == "help" else given[0]
    if not asked.startswith("-") and asked not in {"help", *get_commands()}:
        sys.stderr.write(f"suture: there is no command {asked!r}. {_nearest(asked)}\n")
        return BAD_USAGE
    execute_from_command_line(["suture", *given])
    return 0


def _djangos(module: str, name: str) -> tuple[type[Exception], ...]:
    """An error of Django's, where Django is loaded at all: many commands run without it."""
    loaded = sys.modules.get(module)
    return (getattr(loaded, name),) if loaded is not None else ()


def _overview() -> str:
    """Suture's own commands, a line each; Django's are there too, and documented by it."""
    lines = ["usage: suture COMMAND [PATH] [options]"]
    group = ""
    for name, listed in COMMANDS.items():
        if listed.group != group:
            group = listed.group
            lines += ["", f"{group}:"]
        lines.append(f"  {name:<12} {listed.words}")
    lines += [
        "",
        "PATH is a database, a storage folder, an export or a row document; left out, it is opencode's own database.",
        "suture COMMAND --help tells the options; suture help --commands lists Django's commands too.",
        "Exit codes: 0 fine; 1 found or refused; 2 bad usage or unreadable input.",
    ]
    return "\n".join(lines) + "\n"


def _nearest(name: str) -> str:
    close = nearest(name, COMMANDS, most=1)
    return f"Did you mean {close}?" if close else "suture --help lists them."
