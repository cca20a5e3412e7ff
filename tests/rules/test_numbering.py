"""What stops the V2 server beside a session's messages: found, mended in the file, and taken back byte for byte."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sessions_app.domain import planning
from sessions_app.domain.dialects import applied, decode
from sessions_app.domain.repair import inverted
from sessions_app.domain.rules import Context, Facts, find_all
from sessions_app.domain.scan import scan
from sessions_app.stores import open_store
from sessions_app.stores.base import About
from sessions_app.stores.journal import Journal
from tests.factories.v2files import everything, stores, written

SEQUENCE, EPOCH, ROW = "sequence-broken", "epoch-unreadable", "undecodable-row"
BROKEN = {
    "v2e_seq_conflict_2_chat": (SEQUENCE, "at-risk"),
    "v2e_seq_conflict_3_chat": (SEQUENCE, "at-risk"),
    "v2e_sequence_lowered_chat": (SEQUENCE, "blocked"),
    "v2e_sequence_deleted_chat": (SEQUENCE, "blocked"),
    "v2e_input_unpromoted_one_chat": (SEQUENCE, "blocked"),
    "v2e_epoch_bad_chat": (EPOCH, "blocked"),
    "v2e_message_id_prefix_chat": (ROW, "blocked"),
    "v2e_item_no_id_chat": (ROW, "blocked"),
    "v2e_null_optional_chat": (ROW, "blocked"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_stops_the_server_is_found_mended_safely_and_taken_back(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()[name])
    before = everything(path)
    with open_store(path) as store:
        [rows] = store.read_all()
        session = decode(rows)
        found = [one for one in scan(session).findings if one.severity != "info"]
        assert [(one.rule, one.severity, one.safety) for one in found] == [(*BROKEN[name], "safe")]

        plan = planning.plan(session)
        store.apply(plan.changes, journal=Journal(tmp_path / "journal"), expect={rows.id: plan.rows_hash})
        mended = decode(store.read(rows.id))
        assert scan(mended).health == "healthy"
        assert mended.rows == applied(session, plan.changes).rows
        assert planning.plan(mended).changes == ()
        store.apply(inverted(plan.changes), journal=None, about=About(undoes="x"))
    assert everything(path) == before


def test_the_sequence_is_raised_to_the_greatest_number_that_is_stored(tmp_path: Path) -> None:
    raised = {"v2e_seq_conflict_3_chat": 19, "v2e_sequence_lowered_chat": 16, "v2e_sequence_deleted_chat": 13}
    for name, number in raised.items():
        path = written(tmp_path / f"{name}.db", stores()[name])
        with open_store(path) as store:
            [rows] = store.read_all()
            [change] = planning.plan(decode(rows)).changes
        assert change.table == "event_sequence" and change.after is not None
        assert change.after["seq"] == number


def test_a_stored_prompt_is_marked_as_sent_where_its_message_stands(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()["v2e_input_unpromoted_one_chat"])
    with open_store(path) as store:
        [rows] = store.read_all()
        [change] = planning.plan(decode(rows)).changes
    assert change.after == {**(change.before or {}), "promoted_seq": 18}


def test_a_healthy_session_and_one_of_a_later_generation_are_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()["v2r_kill_tool_anth"])
    later = written(tmp_path / "later.db", stores()["v2e_sequence_deleted_chat"])
    with open_store(path) as store, open_store(later) as other:
        [healthy], [broken] = store.read_all(), other.read_all()
    rules = {one.rule for one in scan(decode(healthy)).findings}
    assert not rules & {SEQUENCE, EPOCH}
    assert not find_all(Context(decode(broken), facts=Facts(reads="opencode-v2")), {SEQUENCE})
    assert not find_all(Context(decode(broken, 3)), {SEQUENCE})


def test_events_of_a_1x_session_without_their_sequence_stop_it(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()["mixed_v1_then_v2"])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session_message")
        connection.execute("DELETE FROM session_input")
        connection.execute("DELETE FROM event_sequence")  # foreign keys are off, as in a client of another kind
    before = everything(path)
    with open_store(path) as store:
        [rows] = store.read_all()
        session = decode(rows)
        [finding] = find_all(Context(session), {SEQUENCE})
        assert (finding.severity, finding.safety) == ("blocked", "safe")
        plan = planning.plan(session)
        store.apply(plan.changes, journal=Journal(tmp_path / "journal"), expect={rows.id: plan.rows_hash})
        assert store.read(rows.id).sequence is None and not find_all(Context(decode(store.read(rows.id))), {SEQUENCE})
        store.apply(inverted(plan.changes), journal=None, about=About(undoes="x"))
    assert everything(path) == before


def test_a_failed_compaction_of_a_later_client_is_a_row_the_server_cannot_read(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", stores()["v2e_compaction_gen3_chat"])
    with open_store(path) as store:
        [rows] = store.read_all()
    result = scan(decode(rows))
    assert result.health == "blocked"
    assert [(one.rule, one.messages) for one in result.findings if one.severity == "blocked"] == [
        (ROW, ("msg_cmp_x8W0Xf",))
    ]
