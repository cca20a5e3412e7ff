"""Memory of a long session, each way to look at it in a process of its own (docs/benchmarks.md#memory)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.factories.bigstore import make_store

pytestmark = pytest.mark.exhaustive

LIMIT = 330
"""MB of memory that a command may hold at its peak. 300 is wanted; 218 to 306 were measured, and allocators differ."""
BUNDLE = 350
"""A bundle of many parts holds more: the masked session beside its own. 324 were measured."""
TURNS, STEPS = 4_211, 3
"""80,009 parts in 21,055 messages."""
TARGET = "openai-chat:acme/model-1"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One session of 80,009 parts with 60 MB of JSON."""
    path = tmp_path_factory.mktemp("long") / "long.db"
    make_store(path, sessions=1, turns=TURNS, steps=STEPS, output=1_000)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def fat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """As many parts with 230 MB."""
    path = tmp_path_factory.mktemp("fat") / "fat.db"
    make_store(path, sessions=1, turns=TURNS, steps=STEPS, output=13_000)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A short session with one output of 50 MB."""
    path = tmp_path_factory.mktemp("huge") / "huge.db"
    make_store(path, sessions=1, turns=5, steps=2, output=1_000)
    with closing(sqlite3.connect(path)) as connection, connection:
        select = "SELECT id, data FROM part WHERE json_extract(data, '$.type') = 'tool' LIMIT 1"
        part, data = connection.execute(select).fetchone()
        value = json.loads(data)
        value["state"]["output"] = "All work and no play, é.\n" * 2_000_000
        text = json.dumps(value, ensure_ascii=False)
        connection.execute("UPDATE part SET data = ? WHERE id = ?", (text, part))
    yield path
    path.unlink()


def peak(folder: Path, *words: str) -> int:
    """MB that ``suture`` with these arguments held at its peak. A process counts the memory of the one that started it
    until its own program runs, so it is started by a small one."""
    command = [sys.executable, "-S", "-c", _MEASURE, sys.executable, "-m", "sessions_app", *words]
    environment = {**os.environ, "SUTURE_DATA_DIR": str(folder / "data")}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    code, kilobytes = map(int, answer.stdout.split())
    assert code in (0, 1), answer.stderr
    return kilobytes // 1_000


_MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", 1, 0)])
_, status, used = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss)
"""


def commands(path: Path) -> dict[str, tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        [(session,)] = connection.execute("SELECT id FROM session")
    of = (str(path), "--session", session)
    exports = {
        form: ("export", *of, "--as", form, "--output", str(path.with_name(f"{form}.out")))
        for form in ("rows", "export", "report", "bundle", "database")
    }
    return {
        "scan": ("scan", str(path), "--json"),
        "canonical": ("lower", *of, "--canonical", "--target", TARGET),
        "body": ("lower", *of, "--target", TARGET),
        **exports,
    }


NAMES = ("scan", "canonical", "body", "rows", "export", "report", "bundle", "database")


@pytest.mark.parametrize("name", NAMES)
def test_eighty_thousand_parts_take_less_than_the_limit(long: Path, tmp_path: Path, name: str) -> None:
    assert peak(tmp_path, *commands(long)[name]) < (BUNDLE if name == "bundle" else LIMIT)


@pytest.mark.parametrize("name", NAMES)
def test_an_output_of_fifty_megabytes_takes_less_than_the_limit(huge: Path, tmp_path: Path, name: str) -> None:
    assert peak(tmp_path, *commands(huge)[name]) < LIMIT


def test_canonical_messages_of_a_session_as_large_as_the_limit_take_less(fat: Path, tmp_path: Path) -> None:
    assert peak(tmp_path, *commands(fat)["canonical"]) < LIMIT
