"""``suture weigh``: which sessions are heavy, of what, and the command that makes one lighter."""

from __future__ import annotations

import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain.weight import HEAVY
from tests.factories.bigstore import make_store

from .running import Suture


def output(path: Path, session: str) -> str:
    """Of its second call."""
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute("SELECT data FROM part WHERE session_id = ? ORDER BY time_created, id", (session,))
        calls: list[Any] = [json.loads(data) for (data,) in rows if '"type":"tool"' in data]
    return str(calls[1]["state"]["output"])


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, str, str]:
    """A store of two sessions, one of them heavy by one output, and their ids."""
    path = tmp_path / "opencode.db"
    light, heavy = make_store(path, sessions=2, turns=3)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        rows = file.execute("SELECT id, data FROM part WHERE session_id = ? ORDER BY time_created, id", (heavy,))
        calls = [(key, json.loads(data)) for key, data in rows.fetchall() if '"type":"tool"' in data]
        key, call = calls[1]
        call["state"]["output"] = "o" * HEAVY
        file.execute("UPDATE part SET data = ? WHERE id = ?", (json.dumps(call, separators=(",", ":")), key))
    return path, light, heavy


def test_it_names_the_heavy_ones_of_a_store(suture: Suture, store: tuple[Path, str, str]) -> None:
    path, light, heavy = store
    before = path.read_bytes()

    told = suture("weigh", path)
    document = suture("weigh", path, "--json").json

    assert told.code == 0
    assert heavy in told.out and light not in told.out
    assert "Heavy: 15.3 MB, of it 15.3 MB in 1 tool call" in told.out
    assert "1 of 2 sessions are heavy." in told.out
    assert ([one["id"] for one in document["sessions"]], document["weighed"], document["unread"]) == ([heavy], 2, 0)
    assert path.read_bytes() == before


@pytest.mark.django_db
def test_of_one_it_tells_turns_places_and_the_command_which_undo_takes_back(
    suture: Suture, store: tuple[Path, str, str]
) -> None:
    path, _, heavy = store
    before = output(path, heavy)

    told = suture("weigh", path, "--session", heavy).out
    preview = next(line.split("suture ", 1)[1] for line in told.splitlines() if "suture repair" in line)
    planned = suture(*shlex.split(preview), "--json")

    assert "turn 2" in told and "bash call, turn 2" in told and "Go on in a new session" in told
    assert planned.code == 0 and output(path, heavy) == before
    done = suture(*shlex.split(preview.removesuffix(" --dry-run")), "--json")
    assert done.code == 0
    assert len(output(path, heavy)) < 20_000 and str(HEAVY) in output(path, heavy)
    assert "Not heavy" in suture("weigh", path, "--session", heavy).out

    assert suture("undo", done.json["repairs"][0]).code == 0
    assert output(path, heavy) == before


def test_a_session_that_is_not_heavy_says_so_and_a_missing_one_is_an_error(
    suture: Suture, store: tuple[Path, str, str]
) -> None:
    path, light, _ = store

    assert "Not heavy" in suture("weigh", path, "--session", light).out
    assert suture("weigh", path, "--session", "ses_gone").code == 2
    assert suture("repair", path, "--choice", "huge-outptu=truncate").code == 2
