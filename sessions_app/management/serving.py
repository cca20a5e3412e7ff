"""The processes of ``serve``: the web server and the worker, started, watched and stopped together."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from django.conf import settings

_STOP_SECONDS = 20.0
_WORKER_PAUSE = 2.0
_PR_SET_PDEATHSIG = 1


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


@contextmanager
def only_server(directory: Path) -> Iterator[bool]:
    """Whether no other ``serve`` works on this data directory; held until the end of the block, or of the process."""
    handle = os.open(directory / "serve.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


class Servers:
    """Web server and worker as child processes. A worker that dies is started again; when the web server ends, all
    ends."""

    def __init__(self, listener: socket.socket, *, worker: bool, take_over: bool) -> None:
        self.stopping = threading.Event()
        self.listener = listener
        self.take_over = take_over
        self.web = self._start_web()
        self.worker = self._start_worker() if worker else None

    def run(self) -> int:
        """Until a signal asks to stop or the web server ends; gives the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        while not self.stopping.is_set():
            if self.web.poll() is not None:
                break
            if self.worker is not None and self.worker.poll() is not None:
                self.stopping.wait(_WORKER_PAUSE)
                if not self.stopping.is_set():
                    self.worker = self._start_worker()
            self.stopping.wait(0.5)
        asked = self.stopping.is_set()
        self.close()
        return 0 if asked else 1

    def close(self) -> None:
        """Stop our own children, gently first."""
        children = [child for child in (self.web, self.worker) if child is not None and child.poll() is None]
        for child in children:
            child.terminate()
        for child in children:
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.listener.close()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopping.set()

    def _start_web(self) -> subprocess.Popen[bytes]:
        number = self.listener.fileno()
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "sessions_app.wsgi:application",
            "--bind",
            f"fd://{number}",
        ]
        command += ["--worker-class", "gthread", "--workers", "2", "--threads", "4", "--log-level", "warning"]
        command += ["--graceful-timeout", "10", "--worker-tmp-dir", str(settings.SUTURE_DATA_DIR)]
        return self._start(command, (number,))

    def _start_worker(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "sessions_app", "db_worker", "--verbosity", "0"]
        return self._start(command + (["--take-over"] if self.take_over else []), ())

    def _start(self, command: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C reaches this process only, which then stops its children in order.
        return subprocess.Popen(
            command,
            pass_fds=descriptors,
            start_new_session=True,
            cwd=settings.BASE_DIR,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )


def _end_with_parent() -> None:
    """Run in the child: should ``serve`` itself be killed, its children get the signal that ends them."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
