"""``suture serve`` as a process, and the family of processes it becomes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]


def until(true: Callable[[], object], seconds: float = 60) -> float:
    """Wait until it is; gives the seconds it took, at least ``seconds`` if it never was."""
    begun = time.monotonic()
    while not true() and time.monotonic() - begun < seconds:
        time.sleep(0.02)
    return time.monotonic() - begun


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(process: int) -> set[int]:
    """Of this process, and theirs."""
    try:
        found = {int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()}
    except OSError:
        return set()
    return found.union(*(children(child) for child in found))


def _as_in_a_terminal() -> None:
    """Under nohup, or behind ``&`` in a script, a process is started with these signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Serving:
    """``suture serve`` on a port of its own, with a home and a data directory in ``folder``."""

    def __init__(self, folder: Path, *arguments: str, port: str = "0", **environment: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUTURE_", "OPENCODE_"))}
        own = {"SUTURE_DATA_DIR": str(self.data), "XDG_DATA_HOME": str(folder / "xdg"), "HOME": str(folder)}
        self.out, self.err = folder / f"{time.time_ns()}.out", folder / f"{time.time_ns()}.err"
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sessions_app", "serve", "--port", port, *arguments],
                cwd=ROOT,
                env={**kept, **own, "PYTHONUNBUFFERED": "1", **environment},
                stdout=out,
                stderr=err,
                preexec_fn=_as_in_a_terminal,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.process.kill()
        self.process.wait()

    def started(self) -> Self:
        """Wait until it has told everything."""
        until(lambda: "Stop with" in self.out.read_text() or self.process.poll() is not None)
        assert "Stop with" in self.out.read_text(), self.err.read_text()
        return self

    def answering(self) -> Self:
        """Wait until web server and worker are at work."""
        self.started()
        until(lambda: self.get("/readyz") == (200, '{"ready": true, "worker": true}'))
        assert self.get("/readyz") == (200, '{"ready": true, "worker": true}')
        return self

    def said(self, beginning: str) -> str:
        lines = self.out.read_text().splitlines()
        return next(line.removeprefix(beginning).strip() for line in lines if line.startswith(beginning))

    @property
    def url(self) -> str:
        return self.said("Suture is at").rstrip("/")

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"{self.url}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return 0, ""

    def ended(self, number: signal.Signals) -> int:
        """Send the signal; gives the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)
