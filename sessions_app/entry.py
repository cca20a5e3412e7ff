"""Where the process begins: nothing is loaded here but what tells that somebody pressed Ctrl-C while it loads."""

from __future__ import annotations

import sys


def main() -> int:
    """The process's own command line; gives its exit code."""
    try:
        from sessions_app.cli import main as run

        return run()
    except KeyboardInterrupt:  # later ones end in stopping.py
        sys.stderr.write("suture: stopped by SIGINT\n")
        return 130
