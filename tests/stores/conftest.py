"""Small stores to read and to write to."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
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
