"""The real client has turns in a database while Suture repairs other sessions of it, and takes the repairs back.

``SUTURE_TRIALS=all``: 500 turns beside 500 writes, else 40 beside 40 or more.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sessions_app.domain.rowdoc import rows_hash
from sessions_app.domain.wish import Wish
from sessions_app.services.repair.files import entry_undo, file_repair
from sessions_app.services.repair.write import journal
from sessions_app.stores import open_store
from sessions_app.stores.sqlite import quick_check
from tests.bulk.store import many
from tests.client.opencode import Client, program
from tests.client.provider import ANSWER, Provider

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]

EACH = 500 if os.environ.get("SUTURE_TRIALS") == "all" else 40
HEALTHY, BROKEN = 10, 20


@contextmanager
def served(client: Client, log: Path) -> Iterator[str]:
    """``opencode serve``; its address."""
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [str(program()), "serve", "--port", "0"],
            cwd=client.project,
            env=client.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield next(line for line in process.stdout if "listening" in line).split()[-1]
        finally:
            process.kill()


class Turns(threading.Thread):
    """Prompts, one after the other, each in the next healthy session."""

    def __init__(self, url: str, sessions: list[str]) -> None:
        super().__init__(daemon=True)
        self.url, self.sessions = url, sessions
        self.answers: list[str] = []

    def run(self) -> None:
        for number in range(EACH):
            self.answers.append(self.prompt(self.sessions[number % len(self.sessions)], f"prompt {number}"))

    def prompt(self, session: str, text: str) -> str:
        prompt = {"model": {"providerID": "fake", "modelID": "fake-1"}, "parts": [{"type": "text", "text": text}]}
        request = urllib.request.Request(
            f"{self.url}/session/{session}/message", json.dumps(prompt).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return "".join(part.get("text", "") for part in json.loads(answer.read())["parts"])
        except (OSError, ValueError, KeyError) as problem:
            return f"lost: {problem!r}"


def hashes(path: Path, sessions: list[str]) -> dict[str, str]:
    with open_store(path) as store:
        return {session: rows_hash(store.read(session)) for session in sessions}


def test_no_turn_and_no_repair_is_lost(opencode: Client, strict: Provider, tmp_path: Path, data_dir: Path) -> None:
    made = many(tmp_path / "made.db", {"dup_id_slow": BROKEN, "clean": HEALTHY})
    opencode.take(made)
    path = opencode.database
    with closing(sqlite3.connect(path)) as connection:
        [mode] = connection.execute("PRAGMA journal_mode = wal").fetchone()
        rows = connection.execute("SELECT session_id, count(*) FROM message GROUP BY 1").fetchall()
    assert mode == "wal"
    counts = dict(rows)
    broken = sorted(repaired(path, []))
    assert len(broken) == BROKEN
    healthy = sorted(set(counts) - set(broken))
    for entry in list(journal(datetime.now(UTC)).entries()):
        entry_undo(entry=entry, now=datetime.now(UTC))
    before = hashes(path, broken)

    with served(opencode, tmp_path / "log") as url:
        turns = Turns(url, healthy)
        turns.start()
        writes, refused = 0, []
        while turns.is_alive() or writes < EACH:
            for session in broken:
                done = repaired(path, [session])
                refused += [] if session in done else [session]
                for repair in set(done.values()):
                    entry_undo(entry=journal(datetime.now(UTC)).get(repair), now=datetime.now(UTC))
                writes += 2
                if writes >= EACH and not turns.is_alive():
                    break
        turns.join(600)

    assert refused == []
    assert turns.answers == [ANSWER] * EACH
    assert [request.error for request in strict.turns()] == [None] * EACH
    assert hashes(path, broken) == before
    with closing(sqlite3.connect(path)) as connection:
        now = dict(connection.execute("SELECT session_id, count(*) FROM message GROUP BY 1"))
        texts = connection.execute("SELECT count(*) FROM part WHERE data LIKE '%\"prompt %'").fetchone()
    assert {session: now[session] - counts[session] for session in counts if session in healthy} == {
        session: 2 * len(range(number, EACH, len(healthy))) for number, session in enumerate(healthy)
    }
    assert texts == (EACH,)
    assert quick_check(path, full=True).state == "ok"


def repaired(path: Path, sessions: list[str]) -> dict[str, str]:
    """Session -> repair."""
    with open_store(path) as store:
        report = file_repair(store=store, wish=Wish(), now=datetime.now(UTC), session_ids=sessions)
    return {one.id: one.repair for one in report.sessions if one.outcome == "repaired"}
