"""Every store of the corpus opens, lists and reads; the three forms of one session hold the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions_app.domain.model import SessionRows
from sessions_app.stores import open_store
from tests.each import for_each, stem
from tests.factories.recordings import INDEX
from tests.paths import CORPUS

DATABASES = sorted(CORPUS.glob("*.db"))
EXPORTS = sorted(path for path in CORPUS.glob("*.json") if path.name != "index.json")
TREES = sorted(CORPUS.glob("*.storage.tgz"))


def contents(rows: SessionRows) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    return tuple([(row["id"], json.loads(row["data"])) for row in table] for table in (rows.messages, rows.parts))


def test_the_corpus_is_there() -> None:
    assert len(DATABASES) > 250
    assert len(EXPORTS) > 100
    assert len(TREES) > 10


@pytest.mark.parametrize("group", range(6))
def test_every_database_lists_and_reads_its_sessions(group: int) -> None:
    for path in DATABASES[group::6]:
        with open_store(path) as store:
            listed = [row["id"] for row in store.sessions()]
            read = list(store.read_all())

            assert store.kind == "sqlite"
            assert [rows.id for rows in read] == listed, path.name
            assert listed, path.name
            assert store.problems == [], path.name


def test_the_session_of_each_index_entry_is_in_its_database() -> None:
    missing = []
    for name, entry in INDEX.items():
        path = CORPUS / f"{name}.db"
        if path.exists() and entry["session"]:
            with open_store(path) as store:
                if entry["session"] not in {row["id"] for row in store.sessions()}:
                    missing.append(name)

    assert missing == []


@for_each("path", EXPORTS, name=stem, one_in=2)
def test_an_export_holds_what_its_database_or_tree_holds(path: Path) -> None:
    with open_store(path) as store:
        assert store.kind == "export"
        assert store.problems == []
        (exported,) = store.read_all()
    twin = next((path.with_suffix(end) for end in (".db", ".storage.tgz") if path.with_suffix(end).exists()), None)
    if twin is None:
        twin = CORPUS / f"{path.stem}.storage.tgz"
    with open_store(twin) as store:
        stored = store.read(exported.id)

    assert contents(exported) == contents(stored)
    for column, value in exported.session.items():
        there = stored.session.get(column)
        if column in ("revert", "permission", "model", "metadata", "summary_diffs") and value is not None:
            value, there = json.loads(value), json.loads(there)
        assert value == there, column


@for_each("path", TREES, name=stem)
def test_a_storage_tree_in_an_archive_reads_without_a_problem(path: Path) -> None:
    with open_store(path) as store:
        assert store.kind == "storage"
        assert list(store.sessions())
        assert [rows.id for rows in store.read_all()] == [row["id"] for row in store.sessions()]
        assert all(rows.projects for rows in store.read_all())
        assert store.problems == []


def test_real_v2_rows_come_in_replay_order() -> None:
    with open_store(CORPUS / "v2-gen1.db") as store:
        assert "opencode-v2" in store.dialects
        for rows in store.read_all():
            assert [row["seq"] for row in rows.session_message] == sorted(row["seq"] for row in rows.session_message)
