"""Console script ``suture``: the project's management commands without ``manage.py``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code.

    Commands end through ``SystemExit``; what comes back here went well. A setting that cannot be read is bad usage
    (exit code 2, design 8), said in one line instead of a traceback.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sessions_app.settings")
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(["suture", *(sys.argv[1:] if arguments is None else arguments)])
    except ImproperlyConfigured as problem:
        sys.stderr.write(f"suture: {problem}\n")
        return 2
    return 0
