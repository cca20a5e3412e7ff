"""Commands as a user runs them, in this process: arguments in; exit code, stdout and stderr out.

A process of its own (``tests/client/suture.py``) is for what is about the process: its start, signals and its own
database.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import pytest

from sessions_app.cli import main


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Suture:
    """The console script's entry, with streams of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> Run:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        self.capsys.readouterr()
        with self.monkeypatch.context() as patched:
            patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
            # A command's end is not this process's: the test's own connection and transaction stay.
            patched.setattr("django.core.management.base.connections.close_all", lambda: None)
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = int(ended.code or 0)
        captured = self.capsys.readouterr()
        return Run(code, captured.out, captured.err)
