"""From refused to going on: the real V2 server (docs/contract/v2-server.md), one process for all sessions of a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain import planning
from sessions_app.domain.dialects import decode
from sessions_app.domain.processor import Usage
from sessions_app.domain.processor.summary import compaction_changes
from sessions_app.domain.rowdoc import rows_hash
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import make_target
from sessions_app.domain.wish import Wish
from sessions_app.stores import open_store
from sessions_app.stores.base import Store
from sessions_app.stores.journal import Journal
from tests.client.lildax import PUBLISHED, Server, program, server
from tests.client.provider import ANSWER, Provider
from tests.factories.v2files import Tables, recorded, stores, written
from tests.factories.v2recordings import RECORDINGS

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]

NOTHING_SENT = ["v2e_seq_conflict_2_chat", "v2e_sequence_lowered_chat", "v2e_epoch_bad_chat", "v2e_null_optional_chat"]
REFUSED = [one.name for one in RECORDINGS.values() if not one.accepted and one.name not in stores()]
BY_HAND = {
    "v2e_session_model_gone_chat",  # the user chooses another model
}


@pytest.fixture
def lildax(strict: Provider, tmp_path: Path) -> Iterator[Server]:
    """The server. In CI a missing one is a failure, not a skip."""
    if program() is None:
        message = "the V2 server is not installed: run `make client`"
        if os.environ.get("CI") and PUBLISHED:
            pytest.fail(message)
        pytest.skip(message)
    with server(tmp_path / "server", strict) as running:
        yield running


def _taken(lildax: Server, tables: dict[str, Tables], folder: Path) -> dict[str, str]:
    """Name of each session -> its id, all of them in the server's database."""
    lildax.take(written(folder / "given.db", *tables.values()))
    return {name: str(one["session"][0]["id"]) for name, one in tables.items()}


def _mended(store: Store, name: str, session_id: str, journal: Journal) -> None:
    """Repair all safe; where that leaves it blocked, what loses something too."""
    target = RECORDINGS[name].target if name in RECORDINGS else None
    for safety in ("safe", "lossy"):
        session = decode(store.read(session_id))
        if safety == "lossy" and scan(session, target).health != "blocked":
            return
        plan = planning.plan(session, target, Wish(safety=safety))  # type: ignore[arg-type]
        store.apply(plan.changes, journal=journal, expect={session_id: plan.rows_hash})


def test_a_session_the_server_sends_nothing_of_goes_on_after_its_repair(lildax: Server, tmp_path: Path) -> None:
    ids = _taken(lildax, {name: stores()[name] for name in NOTHING_SENT}, tmp_path)
    before = {name: lildax.go_on(session, f"first {name}", timeout=2) for name, session in ids.items()}
    with open_store(lildax.database) as store:
        for name, session in ids.items():
            _mended(store, name, session, Journal(tmp_path / "journal"))
    after = {name: lildax.go_on(session, f"second {name}") for name, session in ids.items()}

    assert before == dict.fromkeys(NOTHING_SENT)
    for name, session in ids.items():
        asked = after[name]
        assert asked is not None and asked.error is None, name
        assert ANSWER in str(lildax.answered(session)[0]), name


def test_every_refused_session_goes_on_after_the_recommended_repairs(lildax: Server, tmp_path: Path) -> None:
    tables = {name: recorded(RECORDINGS[name].rows) for name in REFUSED if name not in BY_HAND}
    tables |= {name: one for name, one in stores().items() if "message" not in one}
    ids = _taken(lildax, tables, tmp_path)
    with open_store(lildax.database) as store:
        for name, session in ids.items():
            _mended(store, name, session, Journal(tmp_path / "journal"))

    with ThreadPoolExecutor(3) as several:
        going = {name: several.submit(lildax.go_on, session, f"continue {name}.") for name, session in ids.items()}
    asked = {name: one.result() for name, one in going.items()}

    assert len(asked) >= 60
    assert {name: "nothing was sent" for name, one in asked.items() if one is None} == {}
    assert {name: one.error for name, one in asked.items() if one is not None and one.error} == {}


def test_a_compaction_written_by_suture_is_what_the_server_sends_from_then_on(lildax: Server, tmp_path: Path) -> None:
    bare = {**stores()["v2r_kill_tool_anth"], "event": []}  # those of the data hold nothing, which /history cannot read
    ids = _taken(lildax, {"sound": bare}, tmp_path)
    target = make_target("fakea", "m1", "off", "anthropic-messages")
    with open_store(lildax.database) as store:
        rows = store.read(ids["sound"])
        said: dict[str, Any] = {"usage": Usage(), "cost": 0, "now": 0, "tails": lambda: "0" * 14}
        made = compaction_changes(rows, decode(rows), "All of it, in short.", target=target, **said)
        store.apply(made, journal=Journal(tmp_path / "journal"), expect={rows.id: rows_hash(rows)})

    asked = []
    for number in (1, 2):
        asked.append(lildax.go_on(rows.id, f"prompt {number}"))
        lildax.answered(rows.id)

    for one in asked:
        assert one is not None and one.error is None
        first = str(one.body["messages"][0]["content"])
        assert "<conversation-checkpoint>" in first and "All of it, in short." in first
    assert "prompt 1" in str(asked[1].body["messages"]) and ANSWER in str(asked[1].body["messages"])  # type: ignore[union-attr]
    status, history = lildax.ask("GET", f"/api/session/{rows.id}/history")
    assert status == 200 and "session.next.compaction.ended" in str(history)
