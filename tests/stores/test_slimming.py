"""A slimmed database holds every row of the old one but superseded events; the old file is only read."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain.dialects import decode
from sessions_app.domain.model import SessionRows
from sessions_app.domain.scan import scan
from sessions_app.stores import open_store
from sessions_app.stores.base import StoreError
from sessions_app.stores.slimming import Slimmed, slim_into, survey
from sessions_app.stores.sqlite import quick_check
from sessions_app.stores.sqlite.eventlog import recent
from sessions_app.stores.sqlite.events import rebuilt
from sessions_app.stores.sqlite.store import SqliteStore
from tests.each import for_each
from tests.paths import CORPUS

BASES = sorted(path.name for path in CORPUS.glob("*.db"))
MOVED = ("idwrap_after.db", "idwrap_before@1.18.11.db", "idwrap_before@1.18.33.db")
"""Rows that were edited by hand after their events were written."""
DAY = 86_400_000


def quiet(*_: object) -> None:
    """Nobody listens."""


def slimmed(path: Path, dest: Path) -> Slimmed:
    return slim_into(path, dest, young=None, progress=quiet)


def tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        names = [name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT * FROM `{name}` ORDER BY 1, 2").fetchall() for name in names}


def changed(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for sql in statements:
            connection.execute(sql)
    return path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(shutil.copy(CORPUS / "dup_id_slow.db", tmp_path / "opencode.db"))


@for_each("name", BASES, one_in=6)
def test_all_but_superseded_events_stays_byte_for_byte_and_scans_are_the_same(name: str, tmp_path: Path) -> None:
    old, new = CORPUS / name, tmp_path / "new.db"

    done = slimmed(old, new)

    before, after = tables(old), tables(new)
    events, left = before.pop("event", []), after.pop("event", [])
    assert after == before
    assert set(left) <= set(events) and len(events) - len(left) == done.survey.removed
    assert quick_check(new).state == "ok"
    assert len(done.survey.whole) == (name in MOVED)
    with open_store(old, "sqlite") as one, open_store(new, "sqlite") as other:
        for rows, again in zip(one.read_all(), other.read_all(), strict=True):
            assert again == rows
            if rows.parts:
                assert scan(decode(again)) == scan(decode(rows))


def _told(store: SqliteStore, session: str) -> SessionRows | None:
    """The rows that the events tell, but for when parts were made; None where they tell no session."""
    try:
        rows = rebuilt(store, session).rows
    except StoreError:
        return None
    return replace(rows, parts=[{**part, "time_created": 0} for part in rows.parts])


@for_each("name", [name for name in BASES if name not in MOVED], one_in=6)
def test_the_events_that_are_left_still_tell_every_row(name: str, tmp_path: Path) -> None:
    slimmed(CORPUS / name, tmp_path / "new.db")

    for path in (CORPUS / name, tmp_path / "new.db"):
        with SqliteStore(path) as store:
            logged = store.query("SELECT DISTINCT aggregate_id FROM event") if store.schema.has("event") else []
            told = [_told(store, key) for (key,) in logged]
        if path.name != "new.db":
            expected = told
    assert told == expected


def removed(path: Path, tmp_path: Path) -> int:
    return slimmed(path, tmp_path / "new.db").survey.removed


def test_of_each_thing_only_the_last_event_stays(base: Path, tmp_path: Path) -> None:
    slimmed(base, tmp_path / "new.db")

    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        told = [(kind, json.loads(data)) for kind, data in connection.execute("SELECT type, data FROM event")]
        [(numbered, last)] = connection.execute(
            "SELECT seq, (SELECT max(seq) FROM event) FROM event_sequence"
        ).fetchall()
    parts = [data["part"]["id"] for kind, data in told if kind == "message.part.updated.1"]
    messages = [data["info"]["id"] for kind, data in told if kind == "message.updated.1"]
    sessions = [kind for kind, _ in told if kind.startswith("session.")]
    assert len(parts) == len(set(parts)) and len(messages) == len(set(messages))
    assert sessions == ["session.created.1", "session.updated.1"]
    assert numbered == last == 28


GUARDED = {
    "UPDATE event_sequence SET owner_id = 'sync'": "its events are synchronised (owner_id)",
    "UPDATE session SET workspace_id = 'wrk_1'": "it belongs to a workspace (workspace_id)",
    "DELETE FROM session": "the session itself is gone; its events are what is left of it",
    "UPDATE event_sequence SET seq = 3": "its events are numbered beyond event_sequence",
    "UPDATE part SET data = json_set(data, '$.text', 'mine') WHERE data LIKE '%\"text\":\"A\"%'": (
        "1 row says something else than the last event of it"
    ),
    "UPDATE part SET data = substr(data, 1, length(data) - 1) WHERE data LIKE '%step-start%'": (
        "1 row says something else than the last event of it"
    ),
    "DELETE FROM part WHERE data LIKE '%step-finish%'": "1 row says something else than the last event of it",
    "UPDATE event SET data = '{' WHERE seq = 9": "it has an event that cannot be read",
}


@pytest.mark.parametrize(("sql", "why"), GUARDED.items(), ids=[sql[:40] for sql in GUARDED])
def test_a_guarded_session_is_left_whole_and_named(base: Path, tmp_path: Path, sql: str, why: str) -> None:
    changed(base, sql)

    done = slimmed(base, tmp_path / "new.db")

    assert done.survey.removed == 0
    assert [log.whole for log in done.survey.whole] == [why]
    assert tables(tmp_path / "new.db") == tables(base)


def test_removed_parts_and_messages_count_as_told(base: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(base)) as connection, connection:
        [(session, part, message)] = connection.execute(
            'SELECT session_id, id, message_id FROM part WHERE data LIKE \'%"text":"A"%\''
        ).fetchall()
        for seq, kind, data in (
            (29, "message.part.removed.1", {"sessionID": session, "messageID": message, "partID": part}),
            (30, "message.removed.1", {"sessionID": session, "messageID": message}),
        ):
            values = (f"evt_{seq}", session, seq, kind, json.dumps(data))
            connection.execute("INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, ?)", values)
        connection.execute("UPDATE event_sequence SET seq = 30")
        connection.execute("DELETE FROM part WHERE message_id = ?", (message,))
        connection.execute("DELETE FROM message WHERE id = ?", (message,))

    done = slimmed(base, tmp_path / "new.db")

    assert done.survey.whole == []
    assert done.survey.removed > 18


def test_partial_updates_of_older_clients_are_superseded_by_a_whole_one_only(base: Path, tmp_path: Path) -> None:
    partial = "json_remove(data, '$.info.slug', '$.info.version')"
    changed(base, f"UPDATE event SET data = {partial} WHERE type = 'session.updated.1'")

    slimmed(base, tmp_path / "new.db")

    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        [(kept,)] = connection.execute("SELECT count(*) FROM event WHERE type = 'session.updated.1'").fetchall()
    with closing(sqlite3.connect(base)) as connection:
        assert connection.execute("SELECT count(*) FROM event WHERE type = 'session.updated.1'").fetchone() == (kept,)


def test_events_of_recent_days_are_kept(base: Path, tmp_path: Path) -> None:
    last = 1_796_026_965_952  # of the events in that store

    def of(now: int, days: int) -> int:
        return survey(base, young=recent(now, days), progress=quiet).removed

    assert of(last + DAY, 3) == 0
    assert of(last + 10 * DAY, 3) == removed(base, tmp_path) == 18
    assert 0 < of(last + 3 * DAY + 1_000, 3) < 18


def test_free_pages_go(base: Path, tmp_path: Path) -> None:
    changed(base, "CREATE TABLE waste (text)", "INSERT INTO waste VALUES (zeroblob(4000000))", "DROP TABLE waste")

    done = slimmed(base, tmp_path / "new.db")

    assert done.before > 4_000_000 > (tmp_path / "new.db").stat().st_size == done.after


def test_what_is_only_in_the_wal_is_in_the_new_file(base: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(base)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE session SET title = zeroblob(900000)")
        connection.commit()
        assert Path(f"{base}-wal").stat().st_size > base.stat().st_size

        slimmed(base, tmp_path / "new.db")

        assert tables(tmp_path / "new.db")["session"] == tables(base)["session"]
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


STRANGE = {
    "CREATE TRIGGER t AFTER INSERT ON part BEGIN SELECT 1; END": "trigger t",
    "CREATE VIEW v AS SELECT 1": "view or virtual table v",
    "CREATE TABLE g (a, b AS (a + 1) STORED)": "table g has computed columns",
}


@pytest.mark.parametrize("sql", STRANGE)
def test_a_schema_that_is_not_the_clients_is_refused_in_words(base: Path, tmp_path: Path, sql: str) -> None:
    changed(base, sql)

    with pytest.raises(StoreError, match=STRANGE[sql]) as caught:
        slimmed(base, tmp_path / "new.db")

    assert caught.value.kind == "schema"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "new"))] == []


def test_a_full_disk_is_told_before_anything_is_written(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1_000))  # type: ignore[attr-defined]

    with pytest.raises(StoreError, match="1,000 bytes free") as caught:
        slimmed(base, tmp_path / "new.db")

    assert caught.value.kind == "full"
    assert not (tmp_path / "new.db").exists()


def test_a_disk_that_fills_up_on_the_way_leaves_nothing(base: Path, tmp_path: Path) -> None:
    steps: list[str] = []

    def at(step: str) -> None:
        steps.append(step)
        if step == "copied":
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(StoreError):
        slim_into(base, tmp_path / "new.db", young=None, progress=quiet, at=at)

    assert steps == ["surveyed", "copied"]
    assert [path.name for path in tmp_path.iterdir()] == ["opencode.db"]


def test_a_locked_store_is_busy(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(base, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError) as caught:
            slimmed(base, tmp_path / "new.db")

    assert caught.value.kind == "busy"
    assert not (tmp_path / "new.db").exists()


@pytest.fixture
def copied_wrong(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Between copying and checking a row of the copy changes."""
    from sessions_app.stores import slimming

    real = slimming._Slimming._copy

    def copy(self: Any, schema: Any) -> None:
        real(self, schema)
        self.connection.execute("UPDATE main.part SET data = replace(data, 'e', 'E') WHERE rowid = 2")

    monkeypatch.setattr(slimming._Slimming, "_copy", copy)
    yield


@pytest.mark.usefixtures("copied_wrong")
def test_a_copy_that_differs_in_one_byte_is_thrown_away(base: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="table part"):
        slimmed(base, tmp_path / "new.db")

    assert not (tmp_path / "new.db").exists()


def test_another_file_is_never_written_over(base: Path, tmp_path: Path) -> None:
    (tmp_path / "new.db").write_text("mine")

    with pytest.raises(FileExistsError):
        slimmed(base, tmp_path / "new.db")

    assert (tmp_path / "new.db").read_text() == "mine"
