"""A healthy opencode database of any size, with the real schema of a version and rows as the client writes them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.paths import CORPUS

START = 1_790_000_000_000
"""Milliseconds of the first session; ids stay within one epoch (docs/contract/formats.md#a8)."""

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PROJECT = "ad832e936285f0e404936891fbc7c2396ab281c6"
DIRECTORY = "/home/dev/proj"


def stored_id(prefix: str, ms: int, counter: int, serial: int) -> str:
    """An id as the client makes them (docs/contract/formats.md#a3): time and counter in hex, then 14 signs; ``ses_``
    ids run backwards."""
    stamp = (ms * 0x1000 + counter) % 2**48
    if prefix == "ses":
        stamp = 2**48 - 1 - stamp
    tail = ""
    for _ in range(14):
        serial, digit = divmod(serial, 62)
        tail = _BASE62[digit] + tail
    return f"{prefix}_{stamp:012x}{tail}"


def schema(version: str) -> str:
    return (CORPUS / "schema" / f"{version}.sql").read_text()


def make_store(
    path: Path,
    *,
    sessions: int = 3,
    turns: int = 2,
    steps: int = 1,
    output: int = 200,
    version: str = "1.18.33",
    events: bool = True,
) -> list[str]:
    """Write a new database; returns the session ids, oldest first.

    Each turn is a prompt and, per step, an assistant message of five parts (step-start, reasoning, text, a tool with
    ``output`` characters, step-finish), then a closing answer of three. ``events`` keeps ``event_sequence`` in step,
    where the version has it.
    """
    connection = sqlite3.connect(path)
    try:
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + schema(version))
        connection.execute("BEGIN")
        _insert(
            connection,
            "project",
            {
                "id": PROJECT,
                "worktree": DIRECTORY,
                "vcs": "git",
                "time_created": START,
                "time_updated": START,
                "sandboxes": "[]",
            },
        )
        ids = []
        for number in range(sessions):
            rows = _Rows(number, turns, steps, output, version)
            for table, row in rows.all():
                _insert(connection, table, row)
            if events and _columns(connection, "event_sequence"):
                _insert(
                    connection,
                    "event_sequence",
                    {"aggregate_id": rows.session_id, "seq": turns * (steps + 2)},
                )
            ids.append(rows.session_id)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    return ids


class _Rows:
    def __init__(self, number: int, turns: int, steps: int, output: int, version: str) -> None:
        self.number, self.turns, self.steps, self.output, self.version = number, turns, steps, output, version
        self.ms = START + number * 3_600_000
        self.serial = number * 1_000_000
        self.session_id = stored_id("ses", self.ms, 1, self.serial)

    def all(self) -> Iterator[tuple[str, dict[str, Any]]]:
        start = self.ms
        rows: list[tuple[str, dict[str, Any]]] = []
        finishes = 0
        for turn in range(self.turns):
            user = self._message(
                rows, {"role": "user", "agent": "build", "model": {"providerID": "fake", "modelID": "fake-1"}}
            )
            self._part(rows, user, {"type": "text", "text": f"Please do step {turn}."})
            for step in range(self.steps):
                self._step(rows, user, f"call_{self.number}_{turn}_{step}")
            answer = self._message(rows, self._assistant(user, "stop"))
            self._part(rows, answer, {"type": "step-start"})
            self._part(
                rows,
                answer,
                {"type": "text", "text": "All done.", "time": {"start": self.ms, "end": self.ms}},
            )
            self._part(rows, answer, self._finish("stop"))
            finishes += self.steps + 1
        session = {
            "id": self.session_id,
            "project_id": PROJECT,
            "slug": f"quiet-fox-{self.number}",
            "directory": DIRECTORY,
            "path": "",
            "title": f"Session {self.number}",
            "version": self.version,
            "time_created": start,
            "time_updated": self.ms,
            "tokens_input": 1000 * finishes,
            "tokens_output": 50 * finishes,
        }
        yield "session", session
        yield from rows

    def _step(self, rows: list[tuple[str, dict[str, Any]]], user: str, call_id: str) -> None:
        message = self._message(rows, self._assistant(user, "tool-calls"))
        self._part(rows, message, {"type": "step-start"})
        self._part(
            rows,
            message,
            {"type": "reasoning", "text": "Let me look.", "time": {"start": self.ms, "end": self.ms}},
        )
        self._part(rows, message, {"type": "text", "text": "Running it.", "time": {"start": self.ms, "end": self.ms}})
        state = {
            "status": "completed",
            "input": {"command": f"echo {call_id}", "description": "say it"},
            "output": ("line of output\n" * (self.output // 15 + 1))[: self.output],
            "metadata": {"exit": 0, "truncated": False},
            "title": f"echo {call_id}",
            "time": {"start": self.ms, "end": self.ms + 5},
        }
        self._part(rows, message, {"type": "tool", "tool": "bash", "callID": call_id, "state": state})
        self._part(rows, message, self._finish("tool-calls"))

    def _assistant(self, user: str, finish: str) -> dict[str, Any]:
        return {
            "parentID": user,
            "role": "assistant",
            "mode": "build",
            "agent": "build",
            "path": {"cwd": DIRECTORY, "root": DIRECTORY},
            "cost": 0,
            "tokens": {"input": 1000, "output": 50, "reasoning": 0, "cache": {"write": 0, "read": 0}},
            "modelID": "fake-1",
            "providerID": "fake",
            "finish": finish,
        }

    def _finish(self, reason: str) -> dict[str, Any]:
        tokens = {"input": 1000, "output": 50, "reasoning": 0, "cache": {"write": 0, "read": 0}}
        return {"reason": reason, "type": "step-finish", "tokens": tokens, "cost": 0}

    def _message(self, rows: list[tuple[str, dict[str, Any]]], data: dict[str, Any]) -> str:
        self._tick()
        message_id = stored_id("msg", self.ms, 1, self.serial)
        time = {"created": self.ms} if data["role"] == "user" else {"created": self.ms, "completed": self.ms + 9}
        row = {
            "id": message_id,
            "session_id": self.session_id,
            "time_created": self.ms,
            "time_updated": self.ms + 9,
        }
        rows.append(("message", {**row, "data": _json({**data, "time": time})}))
        return message_id

    def _part(self, rows: list[tuple[str, dict[str, Any]]], message_id: str, data: dict[str, Any]) -> None:
        self._tick()
        row = {
            "id": stored_id("prt", self.ms, 1, self.serial),
            "message_id": message_id,
            "session_id": self.session_id,
        }
        rows.append(("part", {**row, "time_created": self.ms, "time_updated": self.ms, "data": _json(data)}))

    def _tick(self) -> None:
        self.ms += 10
        self.serial += 1


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    """The columns that this version's table has."""
    known = _columns(connection, table)
    used = {column: value for column, value in row.items() if column in known}
    marks = ", ".join("?" for _ in used)
    connection.execute(f"INSERT INTO {table} ({', '.join(used)}) VALUES ({marks})", list(used.values()))
