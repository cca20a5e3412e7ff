"""gunicorn's configuration under ``serve`` (a Python module, as gunicorn reads them)."""

from __future__ import annotations

from typing import Any

from . import lifeline

wsgi_app = "sessions_app.wsgi:application"
worker_class = "gthread"
workers = 2
threads = 4
loglevel = "warning"
graceful_timeout = 10
control_socket_disable = True  # one for all servers of a user, in the home directory


def post_fork(server: Any, worker: Any) -> None:
    """In a web process, before it loads anything."""
    if ask := lifeline.killed_with_parent(server.pid):
        ask()
    lifeline.watch(parent=server.pid)
