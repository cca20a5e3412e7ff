"""Long sessions: their texts lie in a file, and nobody can tell."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sessions_app import stores
from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.fartexts import FarRow
from sessions_app.domain.handback import redact
from sessions_app.domain.lowering import lower
from sessions_app.domain.model import SessionRows
from sessions_app.domain.scan import as_document, scan
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import default_targets
from sessions_app.services.handback.exportdoc import NotExportable, export_documents
from sessions_app.stores import spool
from tests.each import for_each, stem
from tests.factories.bigstore import make_store
from tests.paths import CORPUS

DATABASES = sorted(CORPUS.glob("*.db"))
ODD = "half \ud800 of a pair, \udcff a byte, é, 😀"


@contextmanager
def all_far() -> Iterator[None]:
    """Every text of every session is far."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "NEAR", -1)
        patch.setattr(spool, "LONG", 0)
        yield


def read(path: Path) -> list[SessionRows]:
    with stores.open_store(path) as store:
        return list(store.read_all())


def everything(rows: SessionRows) -> list[Any]:
    """What is made of a session: document, hash, findings and verdicts, canonical messages, export, bundle."""
    session = dialects.decode(rows)
    made: list[Any] = [rowdoc.dump(rows), rowdoc.rows_hash(rows), as_document(session, scan(session))]
    for target in default_targets(session, "auto").values():
        try:
            made.append(list(lower(session, target).messages))
        except LoweringError as error:
            made.append(error.words)
    try:
        made.append(export_documents([rows])[0].text)
    except NotExportable as refusal:
        made.append(str(refusal))
    return [*made, "".join(redact.bundle(rows, {}))]


@for_each("path", DATABASES, name=stem, one_in=8)
def test_far_texts_change_nothing_of_what_is_made_of_a_session(path: Path) -> None:
    near = read(path)
    with all_far():
        far = read(path)
    stored = [row for rows in far for row in (*rows.messages, *rows.parts, *rows.session_message)]
    assert [row for row in stored if isinstance(row["data"], str) and not isinstance(row, FarRow)] == []
    assert [everything(rows) for rows in far] == [everything(rows) for rows in near]


def test_a_far_row_is_a_row_like_any_other() -> None:
    columns = ("id", "message_id", "data")
    values = [("prt_1", "msg_1", ODD), ("prt_2", "msg_1", json.dumps({"type": "text", "text": ODD}))]
    with all_far():
        row, other = spool.collected(columns, values)
    plain = dict(zip(columns, values[0], strict=True))
    assert isinstance(row, FarRow)
    assert row["data"] == row.get("data") == ODD
    assert row.get("nothing", 7) == 7
    assert row == plain == dict(row) == {**row} == row.copy() == dict(row.items()) == pickle.loads(pickle.dumps(row))
    assert plain == row
    assert row != other
    assert {**row, "id": "prt_3"} != row
    assert list(row) == list(columns) == list(row.keys())
    assert list(row.values()) == list(values[0])
    assert json.loads(json.dumps(row)) == plain
    assert other.far.texts.value(other.far) == {"type": "text", "text": ODD}


def test_texts_stay_in_memory_where_there_is_no_room_for_them_elsewhere(monkeypatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool.os, "pwrite", full)
    with all_far():
        assert spool.collected(("id", "data"), [("prt_1", "{}")]) == [{"id": "prt_1", "data": "{}"}]
    monkeypatch.setattr(spool.tempfile, "TemporaryFile", full)
    with all_far():
        assert spool.collected(("id", "data"), [("prt_1", "{}")]) == [{"id": "prt_1", "data": "{}"}]


def test_a_session_goes_far_from_the_row_on_that_is_too_much(tmp_path, monkeypatch) -> None:
    (session,) = make_store(tmp_path / "opencode.db", sessions=1, turns=4, steps=2, output=900)
    monkeypatch.setattr(spool, "NEAR", 12_000)
    with stores.open_store(tmp_path / "opencode.db") as store:
        rows = store.read(session)
    far = [row for row in rows.parts if isinstance(row, FarRow)]
    assert len(far) == 8, "the tools, whose texts alone are long, those before the limit too"
    assert not any(isinstance(row, FarRow) for row in rows.messages)
    assert all(len(row["data"]) > spool.LONG for row in far)
