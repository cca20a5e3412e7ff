"""Console script ``suture``: the project's management commands without ``manage.py``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured

from sessions_app import __version__
from sessions_app.domain.near import nearest
from sessions_app.stopping import stopped_in_a_line

BAD_USAGE = 2
_HELP = ("", "help", "-h", "--help")
_GROUPS = {
    "Look": ("serve", "scan", "locate", "lower"),
    "Repair": ("repair", "dedupe", "drop", "undo", "restore", "bulk-repair"),
    "Hand over": ("export", "relink", "adopt", "recover"),
    "Keep": ("import", "sync", "db_worker"),
    "Ask the provider": ("probe", "compact"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code.

    Commands end through ``SystemExit``; what comes back here went well. A setting that cannot be read is bad usage
    (exit code 2, docs/commands.md), said in one line instead of a traceback.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sessions_app.settings")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["version"], ["--version"]):
        sys.stdout.write(f"suture {__version__}\n")
        return 0
    try:
        with stopped_in_a_line():
            return _run(given)
    except ImproperlyConfigured as problem:
        sys.stderr.write(f"suture: {problem}\n")
        return BAD_USAGE


def _run(given: list[str]) -> int:
    import django
    from django.core.management import execute_from_command_line, get_commands

    django.setup()  # else the commands of our own apps are not known yet
    if " ".join(given) in _HELP:
        sys.stdout.write(_overview())
        return 0
    if not given[0].startswith("-") and given[0] not in {"help", *get_commands()}:
        sys.stderr.write(f"suture: there is no command {given[0]!r}. {_nearest(given[0])}\n")
        return BAD_USAGE
    execute_from_command_line(["suture", *given])
    return 0


def _overview() -> str:
    """Suture's own commands, a line each; Django's are there too, and documented by it."""
    from django.core.management import load_command_class

    lines = ["usage: suture COMMAND [PATH] [options]", ""]
    for title, names in _GROUPS.items():
        lines.append(f"{title}:")
        for name in names:
            words = str(load_command_class("sessions_app", name).help)
            lines.append(f"  {name:<12} {words.partition('. ')[0].partition('; ')[0].rstrip('.')}")
        lines.append("")
    lines += [
        "PATH is a database, a storage folder, an export or a row document; left out, it is opencode's own database.",
        "suture COMMAND --help tells the options; suture help --commands lists Django's commands too.",
        "Exit codes: 0 fine; 1 found or refused; 2 bad usage or unreadable input.",
    ]
    return "\n".join(lines) + "\n"


def _nearest(name: str) -> str:
    known = [command for names in _GROUPS.values() for command in names]
    close = nearest(name, known, most=1)
    return f"Did you mean {close}?" if close else "suture --help lists them."
