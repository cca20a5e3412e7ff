"""The processes of ``serve``: the web server and the worker, started, watched and stopped together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from django.conf import settings

from sessions_app import stopping

from . import lifeline

_STOP_SECONDS = 20.0
_WORKER_PAUSE = 2.0


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, which the web server inherits: so the port is known to be ours before anything starts.

    Raises ``ValueError`` with words where the address cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as problem:
        raise ValueError(f"There is no address {host}: {problem.strerror or problem}") from problem
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as problem:
        listener.close()
        raise ValueError(f"{host}:{port} cannot be served: {problem.strerror}. Choose another --port.") from problem
    return listener


class Servers:
    """Web server and worker as child processes. A worker that dies is started again; when the web server ends, all
    ends. Both hold ``work``, and end with this process however it ends."""

    def __init__(self, listener: socket.socket, *, work: int, worker: bool, take_over: bool) -> None:
        self._stopped_by = 0
        self._stopping = threading.Event()
        self._listener = listener
        self._work = work
        self._with_worker = worker
        self._take_over = take_over
        self._line, self._held_open = os.pipe()
        self._web: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Until a signal asks to stop or the web server ends; gives the signal, 0 for the latter."""
        for number in (signal.SIGINT, *stopping.SIGNALS):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)
        try:
            self._web = self._start_web()
            while not self._stopping.is_set() and self._web.poll() is None:
                if self._with_worker and (self._worker is None or self._worker.poll() is not None):
                    if self._worker is not None:
                        self._stopping.wait(_WORKER_PAUSE)
                    if not self._stopping.is_set():
                        self._worker = self._start_worker()
                self._stopping.wait(0.5)
        finally:
            self._close()
        return self._stopped_by

    def _close(self) -> None:
        """Stop our own children, gently first, and at once when the signal comes again."""
        children = [child for child in (self._web, self._worker) if child is not None and child.poll() is None]
        for child in children:
            child.terminate()
        for child in children:
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._listener.close()
        os.close(self._line)
        os.close(self._held_open)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._stopping.is_set():
            for child in (self._web, self._worker):
                if child is not None:
                    child.kill()
        self._stopped_by = number
        self._stopping.set()

    def _start_web(self) -> subprocess.Popen[bytes]:
        number = self._listener.fileno()
        options = ("--config", "python:sessions_app.management.webserver", "--bind", f"fd://{number}")
        folder = ("--worker-tmp-dir", str(settings.SUTURE_DATA_DIR))
        return self._start(("gunicorn", *options, *folder), number)

    def _start_worker(self) -> subprocess.Popen[bytes]:
        take_over = ("--take-over",) if self._take_over else ()
        return self._start(("sessions_app", "db_worker", "--verbosity", "0", *take_over))

    def _start(self, module: Sequence[str], *descriptors: int) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C reaches this process only, which then stops its children in order.
        return subprocess.Popen(
            (sys.executable, "-m", *module),
            pass_fds=(self._work, self._line, *descriptors),
            env={**os.environ, lifeline.VARIABLE: str(self._line)},
            start_new_session=True,
            cwd=settings.BASE_DIR,
            preexec_fn=lifeline.killed_with_parent(os.getpid()),
        )
