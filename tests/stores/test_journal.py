"""Restore points: durable, private, lossless."""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sessions_app.domain.repair import RowChange
from sessions_app.stores import About, open_store
from sessions_app.stores.journal import Journal

from .conftest import replaced

ODD = {
    "id": "prt_1",
    "blob": b"\x00\xff",
    "text": "caf\udce9 \ud83d \x00",
    "big": 2**63 - 1,
    "real": 1e-7,
    "infinite": float("inf"),
    "none": None,
}


def test_an_entry_reads_back_as_it_was_written(database: Path, journal: Journal) -> None:
    change = RowChange("part", {"id": "prt_1"}, ODD, {**ODD, "text": ""})
    about = About(actor="alice", reason="because", hashes={"ses_1": ("a", "b")}, backup="/b.db")
    with open_store(database) as store:
        entry = journal.prepare(store, [change], about)

    found = Journal(journal.directory).get(entry.id)

    assert found == entry
    assert found.changes == (change,)
    assert (found.actor, found.reason, found.state) == ("alice", "because", "prepared")
    assert found.identity["inode"] == database.stat().st_ino


def test_entries_are_private_and_come_in_order(database: Path, tmp_path: Path) -> None:
    times = iter(datetime(2026, 11, 30, 12, 0, second, tzinfo=UTC) for second in range(20))
    journal = Journal(tmp_path / "data" / "journal", clock=lambda: next(times))
    with open_store(database) as store:
        part = next(store.read_all()).parts[0]
        made = [
            store.apply([replaced(part, data=str(n))], journal=journal, about=About(reason=str(n))) for n in range(1)
        ]
        made.append(store.apply([RowChange("part", {"id": part["id"]}, {**part, "data": "0"}, part)], journal=journal))

    assert [entry.id for entry in journal.entries()] == [done.entry_id for done in made]
    assert journal.directory.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in journal.directory.glob("*.json"))


def test_an_id_of_the_mirrors_repair_can_be_used_once(database: Path, journal: Journal) -> None:
    with open_store(database) as store:
        part = next(store.read_all()).parts[0]
        about = About(repair_id="rep_web1")
        assert store.apply([replaced(part, data="1")], journal=journal, about=about).entry_id == "rep_web1"
        with pytest.raises(FileExistsError):
            store.apply([replaced({**part, "data": "1"}, data="2")], journal=journal, about=about)


@pytest.mark.parametrize("name", ["rep_../../etc/passwd", "x", "rep_", "rep_a/b"])
def test_only_journal_ids_name_files(journal: Journal, name: str) -> None:
    with pytest.raises(KeyError):
        journal.get(name)


def test_a_file_that_is_no_entry_is_listed_and_stops_nothing(database: Path, journal: Journal) -> None:
    with open_store(database) as store:
        part = next(store.read_all()).parts[0]
        store.apply([replaced(part, data="1")], journal=journal)
    (journal.directory / "rep_broken.json").write_text("{")

    assert len(list(journal.entries())) == 1
    assert [path.name for path, _ in journal.unreadable] == ["rep_broken.json"]


def test_recovery_waits_while_another_process_is_writing(database: Path, journal: Journal) -> None:
    with open_store(database) as store:
        part = next(store.read_all()).parts[0]
        journal.prepare(store, [replaced(part, data="1")])
    handle = os.open(journal.directory / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_SH)
    try:
        assert journal.recover(open_store) == []
    finally:
        os.close(handle)
    assert [told.state for told in journal.recover(open_store)] == ["old"]


def test_a_store_that_is_gone_leaves_the_entry_for_later(database: Path, journal: Journal) -> None:
    with open_store(database) as store:
        part = next(store.read_all()).parts[0]
        journal.prepare(store, [replaced(part, data="1")])
    database.rename(database.with_name("moved.db"))

    (told,) = journal.recover(open_store)

    assert told.state == "unreadable"
    assert told.entry.state == "prepared"


def test_a_journal_that_was_never_used_recovers_nothing(tmp_path: Path) -> None:
    assert Journal(tmp_path / "none").recover(open_store) == []
    assert list(Journal(tmp_path / "none").entries()) == []
