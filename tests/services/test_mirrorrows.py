"""Rows that are copied as they lie in the store come into the very columns that reading each session fills."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app import samples
from sessions_app.models import (
    Finding,
    Message,
    Part,
    SearchBlock,
    Session,
    SessionCount,
    Source,
    SourceProblem,
    Verdict,
)
from sessions_app.services import counting, importing, importshare, mirrorrows
from sessions_app.stores.sqlite.store import SqliteStore
from tests.bulk.store import many
from tests.each import for_each
from tests.factories.models import NOW
from tests.paths import CORPUS

pytestmark = pytest.mark.django_db

_OWN = {"id", "session_id", "message_id", "source_id", "imported_at", "scanned_at", "read_state", "known_models"}
"""Keys, times of import, and what is compared apart."""


def imported(path: Path, *, quick: bool) -> Source:
    source, job = importing.source_attach(path=path, actor="ann", now=NOW)
    with pytest.MonkeyPatch.context() as patched:
        if not quick:
            patched.setattr(mirrorrows, "can_be_plain", lambda store: False)
        while importing.import_run(job_id=job.pk, clock=timezone.now):
            pass
    job.refresh_from_db()
    assert job.state == "done"
    assert job.done + job.failed == job.total
    return source


def kept(source: Source) -> dict[str, list[Any]]:
    """All that the mirror has of a source."""

    def rows(model: Any, owner: str, *more: str) -> list[Any]:
        found = model.objects.filter(**{owner: source}).order_by().values(*_columns(model), *more)
        return sorted((json.dumps(row, sort_keys=True, default=bytes.hex) for row in found), key=str)

    return {
        "session": rows(Session, "source", "known_models"),
        "message": rows(Message, "session__source", "session__stored_id"),
        "part": rows(Part, "session__source", "session__stored_id", "message__stored_id", "message__table"),
        "finding": rows(Finding, "session__source", "session__stored_id"),
        "verdict": rows(Verdict, "session__source", "session__stored_id"),
        "search": rows(SearchBlock, "session__source", "session__stored_id"),
        "count": rows(SessionCount, "source"),
        "problem": rows(SourceProblem, "source"),
    }


def _columns(model: Any) -> list[str]:
    names = [field.attname for field in model._meta.concrete_fields]
    return [name for name in names if name not in _OWN and name != "words"]


def check_equal(first: Path, second: Path) -> int:
    """Returns how many sessions came the short way."""
    long = kept(imported(second, quick=False))
    copied: list[str] = []
    real = mirrorrows.rows_copy
    with pytest.MonkeyPatch.context() as patched:

        def counted(**given: Any) -> mirrorrows.Copied:
            done = real(**given)
            copied.extend(session.stored_id for session in done.copied)
            return done

        for module in (importing, importshare):
            patched.setattr(module, "rows_copy", counted)
        short = kept(imported(first, quick=True))
    for name, rows in long.items():
        assert short[name] == rows, name
    before = sorted(
        SessionCount.objects.exclude(sessions=0).values_list("source", "kind", "value", "health", "sessions")
    )
    counting.counts_recount()
    assert before == sorted(SessionCount.objects.values_list("source", "kind", "value", "health", "sessions"))
    return len(copied)


def twice(path: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two files of one name: what names the file is equal then."""
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        found.append(tmp_path / name / path.name)
        shutil.copy(path, found[-1])
    return found[0], found[1]


@for_each("name", sorted(path.name for path in CORPUS.glob("*.db")), one_in=48)
def test_both_ways_fill_equal_columns(name: str, tmp_path: Path) -> None:
    check_equal(*twice(CORPUS / name, tmp_path))


def test_the_samples_come_the_short_way(tmp_path: Path) -> None:
    path = samples.unpack(tmp_path / "native")

    assert check_equal(*twice(path, tmp_path)) > 5


_ODD = {
    "a BLOB": "UPDATE part SET data = CAST(data AS BLOB) WHERE id = (SELECT min(id) FROM part)",
    "no JSON": "UPDATE part SET data = '{broken' WHERE id = (SELECT min(id) FROM part)",
    "no object": "UPDATE part SET data = '[1]' WHERE id = (SELECT min(id) FROM part)",
    "a key twice": """UPDATE part SET data = '{"type":"text","type":"tool","tool":"a","tool":7,"callID":["x"]}'""",
    "half a pair": """UPDATE part SET data = '{"type":"t\\ud800","text":"\\ud800"}'""",
    "NUL": "UPDATE part SET data = data || char(0) WHERE id = (SELECT max(id) FROM part)",
    "no UTF-8": "UPDATE part SET data = CAST(x'7bff7d' AS TEXT) WHERE id = (SELECT max(id) FROM part)",
    "a long id": "UPDATE part SET id = id || hex(zeroblob(200)) WHERE id = (SELECT max(id) FROM part)",
    "a time in words": "UPDATE part SET time_created = 'noon' WHERE id = (SELECT max(id) FROM part)",
    "a time with a fraction": "UPDATE message SET time_created = 0.5 WHERE id = (SELECT max(id) FROM message)",
    "an orphan": "UPDATE part SET message_id = 'msg_gone' WHERE id = (SELECT min(id) FROM part)",
    "a stray": "UPDATE part SET session_id = 'ses_other' WHERE id = (SELECT min(id) FROM part)",
    "a message that is no JSON": "UPDATE message SET data = 'x' WHERE id = (SELECT min(id) FROM message)",
    "a number as role": "UPDATE message SET data = json_set(data, '$.role', 7, '$.error', json('{\"name\":1}'))",
    "an id with NUL": "UPDATE part SET id = id || char(0) || 'x' WHERE id = (SELECT max(id) FROM part)",
    "an id that is no UTF-8": "UPDATE part SET id = CAST(x'ff' AS TEXT) WHERE id = (SELECT max(id) FROM part)",
    "an id that is a number": "UPDATE message SET id = 7 WHERE id = (SELECT max(id) FROM message)",
    "characters of several bytes": "UPDATE part SET data = json_set(data, '$.text', 'h\u00e4\U0001f600') WHERE id > ''",
    "no indexes": "DROP INDEX part_message_id_id_idx",
    "parts in no order": "UPDATE part SET rowid = -rowid",
    "another column": "ALTER TABLE part ADD COLUMN more TEXT DEFAULT 'x'",
    "a trigger": "CREATE TRIGGER odd AFTER INSERT ON part BEGIN DELETE FROM message; END",
}


@for_each("what", _ODD)
def test_odd_rows_come_as_they_are(what: str, tmp_path: Path) -> None:
    path = many(tmp_path / "opencode.db", {"clean": 1, "dup_id_slow": 1})
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(_ODD[what])
    connection.close()

    check_equal(*twice(path, tmp_path))


def test_a_session_that_is_too_long_to_be_held_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = samples.unpack(tmp_path / "native")
    monkeypatch.setattr(mirrorrows, "_BYTES", 1_000)

    assert check_equal(*twice(path, tmp_path)) > 5


@pytest.mark.django_db(transaction=True)
def test_the_mirror_is_not_locked_while_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path / "opencode.db", {"clean": 3})
    real, seen = mirrorrows.plain_parts, []

    def looked(*given: Any) -> Any:
        seen.append(connection.in_atomic_block)
        return real(*given)

    monkeypatch.setattr(mirrorrows, "plain_parts", looked)

    imported(path, quick=True)

    assert seen == [False] * 3


def test_each_odd_session_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path / "opencode.db", {"clean": 9})
    with sqlite3.connect(path) as file:
        file.execute("UPDATE part SET time_created = 'noon'")
    file.close()
    real, seen = mirrorrows.plain_session, []

    def looked(store: SqliteStore, stored_id: str) -> Any:
        seen.append(stored_id)
        return real(store, stored_id)

    monkeypatch.setattr(mirrorrows, "plain_session", looked)
    monkeypatch.setattr(importing, "_first_rows", lambda job, store, clock: {})
    _, job = importing.source_attach(path=path, actor="ann", now=NOW)

    while importing.import_run(job_id=job.pk, clock=timezone.now, seconds=0.0):
        pass

    assert len(set(seen)) == 9
    assert len(seen) <= 2 * 9, "once more where a chunk of time ends between the two"
