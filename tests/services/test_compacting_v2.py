"""A compaction in the file of a V2 session: with its events and its number, in one write, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

from sessions_app.domain.dialects import apply, decode
from sessions_app.domain.lowering import lower
from sessions_app.domain.processor import Usage
from sessions_app.domain.processor.summary import compaction_changes, told_by_events
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.rowdoc import rows_hash
from sessions_app.domain.wire.target import Target
from sessions_app.stores import open_store
from sessions_app.stores.base import About
from sessions_app.stores.journal import Journal
from tests.factories.v2files import everything, stores, written

TARGET = Target("openai-chat", "fake", "m1")


def changes(session) -> tuple[RowChange, ...]:
    said = {"target": TARGET, "usage": Usage(), "cost": 0, "now": 0, "tails": lambda: "0" * 14}
    return compaction_changes(session.rows, session, "What was done.", **said)


def test_it_is_written_with_its_two_events_and_the_raised_number(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()["v2e_seq_conflict_2_chat"])
    with open_store(path) as store:
        [broken] = store.read_all()
    assert not told_by_events(decode(broken))  # its sequence is to be mended first

    path = written(tmp_path / "sound.db", stores()["v2e_epoch_bad_chat"])
    before = everything(path)
    with open_store(path) as store:
        [rows] = store.read_all()
        session = decode(rows)
        made = changes(session)
        store.apply(made, journal=Journal(tmp_path / "journal"), expect={rows.id: rows_hash(rows)})
        after = store.read(rows.id)
        assert after == apply(rows, made)
        assert (after.sequence or {})["seq"] == after.last_event == after.session_message[-1]["seq"] == 18
        told = store.query("SELECT seq, type, data FROM event WHERE seq > 16 ORDER BY seq")
        [sent] = lower(decode(after), TARGET).messages
        store.apply(inverted(made), journal=None, about=About(undoes="x"))
    assert [(seq, kind) for seq, kind, _ in told] == [
        (17, "session.next.compaction.started.1"),
        (18, "session.next.compaction.ended.1"),
    ]
    ended = json.loads(told[1][2])
    assert ended["text"] == "What was done." and ended["messageID"] == after.session_message[-1]["id"]
    assert "What was done." in str(sent["content"])
    assert everything(path) == before


def test_a_session_of_a_later_generation_is_compacted_in_sutures_copy_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()["v2e_epoch_bad_chat"])
    with open_store(path) as store:
        [rows] = store.read_all()
    later = decode(rows, 3)
    assert not told_by_events(later)
    assert [change.table for change in changes(later)] == ["session_message"]
