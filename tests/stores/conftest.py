"""Small stores to read and to write to."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain.repair import RowChange
from sessions_app.stores.journal import Journal
from tests.factories.bigstore import make_store
from tests.paths import CORPUS


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Three sessions of two turns, 1.18.33, in WAL mode."""
    path = tmp_path / "opencode.db"
    make_store(path)
    return path


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def corpus_copy(tmp_path: Path) -> Callable[[str], Path]:
    """A file of the corpus that the test may write to."""

    def copy(name: str) -> Path:
        dest = tmp_path / name
        shutil.copy(CORPUS / name, dest)
        dest.chmod(0o644)
        return dest

    return copy


def replaced(row: dict[str, Any], table: str = "part", **columns: Any) -> RowChange:
    return RowChange(table, {"id": row["id"]}, row, {**row, **columns})


def run(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """A statement by another program."""
    connection = sqlite3.connect(path)
    try:
        found = connection.execute(sql, values).fetchall()
        connection.commit()
        return found
    finally:
        connection.close()


@contextmanager
def beside(code: str, *arguments: object, program: str | Path = sys.executable) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs ``code``, once it has said that it is ready; at the end it gets a line and is waited
    for."""
    process = subprocess.Popen(
        [program, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        if process.stdin is not None and not process.stdin.closed:
            process.communicate("\n")
