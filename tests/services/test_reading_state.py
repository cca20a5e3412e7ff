"""A session whose store's files nobody wrote to is not read again; whatever is written to them is seen."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app.domain.wish import Wish
from sessions_app.models import Part, Session, Source
from sessions_app.services.actor import Actor
from sessions_app.services.reading import session_refresh
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.undo import repair_undo
from sessions_app.stores import base
from sessions_app.stores.sqlite.store import SqliteStore
from tests.factories.corpus import attached
from tests.paths import CORPUS

pytestmark = pytest.mark.django_db(transaction=True)

WRITE = 'UPDATE part SET data = replace(data, \'"text":"\', \'"text":"since: \') WHERE id = ?'


@pytest.fixture
def database(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database that counts as settled as soon as it is written."""
    monkeypatch.setattr(base, "_SETTLED_SECONDS", 0.0)
    path = tmp_path / "one.db"
    shutil.copyfile(CORPUS / "seed_kimi_abort@1.18.11.db", path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return path


@pytest.fixture
def source(database: Path) -> Source:
    return attached(database)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose rows are read."""
    sessions: list[str] = []
    stored = SqliteStore.stored

    def counted(self: SqliteStore, session_id: str):
        sessions.append(session_id)
        return stored(self, session_id)

    monkeypatch.setattr(SqliteStore, "stored", counted)
    return sessions


def session() -> Session:
    return Session.objects.get()


def text_part() -> Part:
    found = Part.objects.filter(kind="text").order_by("position").first()
    assert found is not None
    return found


def refreshed(**how: bool) -> bool:
    return session_refresh(session=session(), now=timezone.now(), **how).changed


def wrote(path: Path) -> None:
    """Another process writes a text, and nothing else: no time of a row, no counter."""
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2], sys.argv[3:]); c.commit()"
    subprocess.run([sys.executable, "-c", script, str(path), WRITE, text_part().stored_id], check=True)


def is_shown() -> bool:
    return '"since: ' in text_part().data


def test_files_that_nobody_wrote_are_not_read_again(source: Source, read: list[str]) -> None:
    assert session().read_state
    assert not refreshed()
    assert not refreshed()
    assert read == []

    assert not refreshed(force=True)
    assert len(read) == 1


def test_a_write_of_another_process_is_seen(source: Source, database: Path, read: list[str]) -> None:
    wrote(database)

    assert refreshed()
    assert is_shown()
    assert not refreshed()
    assert len(read) == 1


def test_what_is_in_the_wal_alone_is_seen(source: Source, database: Path, read: list[str]) -> None:
    client = sqlite3.connect(database, autocommit=True)
    client.execute("PRAGMA wal_autocheckpoint = 0")
    before = database.stat()
    client.execute(WRITE, [text_part().stored_id])

    assert refreshed()
    assert is_shown()
    assert (database.stat().st_mtime_ns, database.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert not refreshed()
    assert len(read) == 1
    client.close()


def test_a_time_that_was_set_back_hides_nothing(source: Source, database: Path) -> None:
    before = database.stat()
    wrote(database)
    os.utime(database, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert database.stat().st_size == before.st_size
    assert refreshed()
    assert is_shown()


def test_what_no_time_tells_is_seen_when_somebody_asks(
    source: Source, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteStore, "file_state", lambda self: "always the same")
    refreshed(force=True)
    wrote(database)

    assert not refreshed()
    assert refreshed(force=True)
    assert is_shown()


def test_a_file_that_is_still_warm_is_read_each_time(
    source: Source, database: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_SETTLED_SECONDS", 3600.0)
    refreshed()
    refreshed()

    assert len(read) == 2
    assert session().read_state == ""


def test_a_file_that_another_was_put_in_the_place_of_is_seen(source: Source, database: Path, tmp_path: Path) -> None:
    before = database.stat()
    other = tmp_path / "other.db"
    shutil.copyfile(database, other)
    wrote(other)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, database)

    assert refreshed()
    assert is_shown()


def test_what_is_repaired_and_undone_here_is_what_the_file_holds(source: Source, read: list[str]) -> None:
    ann = Actor("ann", "web")
    repair = repair_apply(session=session(), wish=Wish(), actor=ann, now=timezone.now())
    repaired = session().rows_hash
    assert not refreshed()
    assert session().rows_hash == repaired

    repair_undo(repair=repair, actor=ann, now=timezone.now())
    undone = session().rows_hash
    assert not refreshed()
    assert (session().rows_hash, undone == repaired) == (undone, False)
    read.clear()
    assert not refreshed()
    assert read == []


def test_rows_that_somebody_else_put_into_the_mirror_void_the_state(source: Source, read: list[str]) -> None:
    Session.objects.update(rows_hash="another", scanned_hash="another")

    assert refreshed()
    assert len(read) == 1


def test_an_import_to_come_reads_all_the_same(source: Source, read: list[str]) -> None:
    Session.objects.update(pending=True)
    refreshed()

    assert len(read) == 1
    assert not session().pending
