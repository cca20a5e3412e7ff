"""A session with messages of both clients: said, both judged, and one chosen (docs/contract/v2-server.md#d12)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sessions_app.domain.dialects import decode, reading
from sessions_app.domain.model import V1, V2, Session
from sessions_app.domain.scan import scan
from sessions_app.stores import open_store
from tests.factories.v2files import stores, written


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return written(tmp_path / "opencode.db", stores()["mixed_v1_then_v2"])


def _session(path: Path) -> Session:
    with open_store(path) as store:
        [rows] = store.read_all()
    return decode(rows)


def test_it_is_said_with_how_many_messages_each_client_has_and_sends(mixed: Path) -> None:
    session = _session(mixed)
    result = scan(session)
    [finding] = [one for one in result.findings if one.rule == "two-histories"]
    assert result.health == "at-risk" and finding.severity == "at-risk" and finding.safety == "manual"
    assert finding.summary.startswith("The session holds 3 messages of the old client (1.x) and 2 of the new one (2.x)")
    assert finding.details["histories"] == {
        V1: {"messages": 3, "newest": 1796026191380, "accepted": True},
        V2: {"messages": 2, "newest": 1796058463653, "accepted": True},
    }


def test_the_newer_messages_are_the_sessions_unless_others_are_chosen(mixed: Path) -> None:
    session = _session(mixed)
    assert [message.kind for message in session.messages] == ["user", "assistant"]
    assert len(reading(session, V1).messages) == 3
    assert reading(session, "").dialect == reading(session, "opencode-v9").dialect == V2
    old = [{**row, "time_created": row["time_created"] + 10**9} for row in session.rows.messages]
    session.rows.messages = old
    assert decode(session.rows).dialect == V1


def test_rows_that_2x_took_over_are_one_history(mixed: Path) -> None:
    rows = _session(mixed).rows
    for old, new in zip(rows.messages, rows.session_message, strict=False):
        new["time_created"] = old["time_created"]
    assert not [one for one in scan(decode(rows)).findings if one.rule == "two-histories"]


def test_what_the_other_client_would_be_refused_for_is_said(mixed: Path) -> None:
    session = _session(mixed)
    tool = next(part for part in session.rows.parts if json.loads(part["data"])["type"] == "tool")
    twin = {**tool, "id": f"{tool['id']}z"}
    session.rows.parts = sorted([*session.rows.parts, twin], key=lambda row: (row["message_id"], row["id"]))
    [finding] = [one for one in scan(decode(session.rows)).findings if one.rule == "two-histories"]
    assert finding.details["histories"][V1]["accepted"] is False
    assert "Those of the other one would be refused: Duplicate value for 'tool_call_id'" in finding.summary


def test_commands_take_the_other_history_by_name(suture: Callable[..., object], mixed: Path) -> None:
    target = ("--target", "openai-chat:fake/m1")
    newer = json.loads(suture("lower", mixed, *target).out)  # type: ignore[attr-defined]
    older = json.loads(suture("lower", mixed, *target, "--history", V1).out)  # type: ignore[attr-defined]
    assert "ok done" in json.dumps(newer) and "ok done" not in json.dumps(older)
    assert any(message.get("tool_calls") for message in older["messages"])
    told = json.loads(suture("scan", mixed, "--history", V1, "--json").out)  # type: ignore[attr-defined]
    assert told["sessions"][0]["target"]["model"] == "fake-1"
    planned = suture("repair", mixed, "--history", V1, "--dry-run", "--json")
    assert json.loads(planned.out)["dry_run"] is True  # type: ignore[attr-defined]
