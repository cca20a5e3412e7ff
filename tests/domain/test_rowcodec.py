"""The one codec of stored values: what was written by earlier versions is still read."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sessions_app.domain.model import Row
from sessions_app.domain.rowcodec import row_from_text, row_text, to_text, unwrapped_row, wrapped_row
from sessions_app.stores.journal import Journal

ODD: Row = {
    "blob": b"\x00\xff",
    "bytes": b"caf\xe9".decode("utf-8", "surrogateescape"),
    "nul": "a\x00b",
    "half": "\ud83d",
    "big": 2**80,
    "real": -math.inf,
    "data": '{"$base64":"not a wrapper"}',
    "none": None,
}


def test_a_row_with_everything_that_json_cannot_say_reads_back() -> None:
    text = row_text(ODD)

    assert text.isascii()
    assert row_from_text(text) == ODD
    assert unwrapped_row(json.loads(to_text(wrapped_row(ODD)))) == ODD


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('{"id":"s","title":{"$blob":"AP8="}}', {"id": "s", "title": b"\x00\xff"}),
        ('{"id":"s","title":"caf\\udce9"}', {"id": "s", "title": "caf\udce9"}),
        ('{"id":"s","cost":Infinity,"$blob":"x"}', {"id": "s", "cost": math.inf, "$blob": "x"}),
    ],
)
def test_rows_of_the_mirror_as_earlier_versions_wrote_them(text: str, row: Row) -> None:
    assert row_from_text(text) == row


def test_a_journal_entry_of_an_earlier_version(tmp_path: Path) -> None:
    rows = {"before": {"id": "p", "data": {"$base64": "AP8="}}, "after": {"id": "p", "data": "caf\udce9"}}
    entry = {
        "journal": 1,
        "id": "rep_1",
        "path": "/x",
        "kind": "sqlite",
        "state": "committed",
        "session_ids": ["s"],
        "hashes": {"s": ["a", "b"]},
        "changes": [{"table": "part", "key": {"id": "p"}, **rows}],
    }
    (tmp_path / "rep_1.json").write_text(json.dumps(entry), "ascii")

    (change,) = Journal(tmp_path, lambda: datetime.now(UTC)).get("rep_1").changes

    assert change.before == {"id": "p", "data": b"\x00\xff"}
    assert change.after == {"id": "p", "data": "caf\udce9"}
