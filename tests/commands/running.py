"""Commands as a user runs them: arguments in; exit code, stdout and stderr out."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import CommandError, call_command


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
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, name: str, *arguments: object, stdin: str | bytes = b"") -> Run:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        self.capsys.readouterr()
        words = ""
        with self.monkeypatch.context() as patched:
            patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
            try:
                call_command(name, *map(str, arguments))
                code = 0
            except SystemExit as ended:
                code = int(ended.code or 0)
            except CommandError as refused:
                code, words = refused.returncode, str(refused)
        captured = self.capsys.readouterr()
        return Run(code, captured.out, captured.err + words)
