"""Over what the real client left behind: a repair is idempotent, and its undo gives every row back."""

from __future__ import annotations

import shutil
import tarfile
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

import pytest

from sessions_app import stores
from sessions_app.domain import rowdoc
from sessions_app.domain.wish import Wish
from sessions_app.services.repair.files import entry_undo, file_repair
from sessions_app.services.repair.write import journal
from tests.each import for_each
from tests.paths import CORPUS

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SOURCES = [
    path
    for pattern in ("*.db", "*.json", "*.storage.tgz")
    for path in sorted(CORPUS.glob(pattern))
    if path.name != "index.json"
]


def copied(source: Path, folder: Path) -> Path:
    if source.suffix != ".tgz":
        return Path(shutil.copy(source, folder / source.name))
    with tarfile.open(source) as packed:
        packed.extractall(folder, filter="data")
    return folder


def hashes(path: Path) -> dict[str, str]:
    with stores.open_store(path) as store:
        return {rows.id: rowdoc.rows_hash(rows) for rows in store.read_all()}


@pytest.mark.parametrize("safety", ["safe", "lossy"])
@for_each("source", SOURCES, name=attrgetter("name"), one_in=10)
def test_repaired_once_twice_and_undone(source, safety, tmp_path, data_dir):
    (tmp_path / "store").mkdir()
    path = copied(source, tmp_path / "store")
    before = hashes(path)

    with stores.open_store(path) as store:
        first = file_repair(store=store, wish=Wish(safety=safety), now=NOW)
    with stores.open_store(path) as store:
        second = file_repair(store=store, wish=Wish(safety=safety), now=NOW)
    repaired = hashes(path) != before
    for name in reversed(first.repairs):
        entry_undo(entry=journal(NOW).get(name), now=NOW)

    assert {session.outcome for session in first.sessions} <= {"repaired", "nothing"}
    assert {session.outcome for session in second.sessions} == {"nothing"}
    assert repaired is bool(first.repairs)
    assert hashes(path) == before
    if safety == "lossy":
        assert [session.left for session in second.sessions if session.left] == []
