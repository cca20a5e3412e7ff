"""The export of 2.x, ``{info, messages: [{id, type, ...}]}``: read, repaired, and written back in this form
(docs/contract/formats.md#c2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions_app.domain import planning
from sessions_app.domain.dialects import decode
from sessions_app.domain.repair import Operation, inverted
from sessions_app.domain.scan import scan
from sessions_app.domain.wish import Wish
from sessions_app.stores import open_store
from tests.paths import REPORTS


def _copy(tmp_path: Path, indent: int | None = None) -> Path:
    """As JavaScript writes it."""
    path = tmp_path / "session.json"
    document = json.loads((REPORTS / "v2-export.json").read_text())
    text = json.dumps(document, indent=indent, separators=(",", ": ") if indent else (",", ":"))
    path.write_text(text + "\n")
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_it_is_read_as_rows_of_2x_repaired_in_its_form_and_taken_back(tmp_path: Path, indent: int | None) -> None:
    path = _copy(tmp_path, indent)
    before = path.read_bytes()
    with open_store(path) as store:
        [rows] = store.read_all()
        assert store.problems == [] and not rows.messages and rows.session["directory"] == "/w"
        session = decode(rows)
        assert [(one.kind, one.generation, one.fault) for one in session.messages] == [
            ("user", 3, None),
            ("assistant", 3, None),
            ("idle", 3, None),
        ]
        assert {one.rule for one in scan(session).findings} == {"duplicate-call-id-in-message"}
        plan = planning.plan(session)
        store.apply(plan.changes, journal=None, expect={rows.id: plan.rows_hash})

        after, old = json.loads(path.read_text()), json.loads(before)
        old["messages"][1]["content"].pop()
        assert after == old
        assert scan(decode(store.read(rows.id))).health == "healthy"
        store.apply(inverted(plan.changes), journal=None)
    assert path.read_bytes() == before


def test_a_row_that_goes_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    path = _copy(tmp_path)
    with open_store(path) as store:
        [rows] = store.read_all()
        gone = Operation("delete", "row", "msg_duptool00")
        named = Operation("replace", "session", columns={"directory": "/moved"})
        plan = planning.plan(decode(rows), wish=Wish(operations=(gone, named)))
        store.apply(plan.changes, journal=None)
        assert [row["id"] for row in store.read(rows.id).session_message] == ["msg_duptool01", "msg_duptool02"]
    document = json.loads(path.read_text())
    assert document["info"]["location"] == {"directory": "/moved"} and "directory" not in document["info"]
    assert [message["type"] for message in document["messages"]] == ["assistant", "idle"]
