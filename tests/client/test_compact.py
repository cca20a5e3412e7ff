"""The real client goes on from a compaction that Suture wrote into its database."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

from sessions_app.domain.processor.events import StepStart
from sessions_app.domain.wire.target import make_target
from sessions_app.stores.fileturns import FileTurnStore
from tests.client.opencode import Client
from tests.client.provider import ANSWER, Provider
from tests.client.suture import Suture
from tests.commands.test_engine_commands import SUMMARY
from tests.paths import CORPUS
from tests.processor.surroundings import World, broken, call, reply, text
from tests.providers.scripted import scripted

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]


def said(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@pytest.mark.parametrize("name", ["dup_id_slow", "compact_fail_400", "compact_killed"])
def test_a_session_that_the_client_cannot_compact_is_compacted_and_resumed(
    opencode: Client, strict: Provider, tmp_path: Any, name: str
) -> None:
    session = opencode.take(CORPUS / f"{name}.db")
    if name == "dup_id_slow":
        opencode.go_on(session)
        assert [request.error for request in strict.turns() if request.error], "it is blocked before"
        strict.requests.clear()
    with scripted(SUMMARY) as served:
        done = Suture(tmp_path / "suture", served.url).json("compact", str(opencode.database), "--send")
    assert done["accepted"] is True

    run = opencode.go_on(session)

    assert run.code == 0, run.output
    assert ANSWER in run.output
    [turn] = strict.turns()
    assert turn.error is None
    assert [said(message) for message in turn.body["messages"][1:]] == [
        "What did we do so far?",
        "## Goal\nList files.",
        "continue",
    ]
    with closing(sqlite3.connect(opencode.database)) as connection:
        [(title,)] = connection.execute("SELECT title FROM session WHERE id = ?", (session,)).fetchall()
    assert title


def test_the_client_exports_a_session_that_suture_compacted(opencode: Client, strict: Provider, tmp_path: Any) -> None:
    session = opencode.take(CORPUS / "clean.db")
    with scripted(SUMMARY) as served:
        Suture(tmp_path / "suture", served.url).json("compact", str(opencode.database), "--send")

    export = json.loads(opencode.export(session, tmp_path / "export.json").read_text())

    trigger, summary = export["messages"][-2:]
    assert trigger["parts"][0]["type"] == "compaction"
    assert summary["info"]["summary"] is True
    assert summary["info"]["parentID"] == trigger["info"]["id"]


def test_the_client_goes_on_from_turns_that_the_processor_wrote(opencode: Client, strict: Provider) -> None:
    session = opencode.take(CORPUS / "clean.db")
    with FileTurnStore(opencode.database, session) as store:
        failing = [StepStart(), *text("half"), broken()]
        good = [reply(*text("I look"), *call("call_9"), reason="tool-calls"), reply(*text("found it"))]
        world = World([failing, *good], store=store, every=0)  # type: ignore[arg-type]
        world.target = make_target("fake", "fake-1")
        world.now = time.time_ns() // 1_000_000 - 60_000  # past, with the waits that it only counts
        world.ask("look")

    run = opencode.go_on(session)

    assert run.code == 0, run.output
    [turn] = strict.turns()
    assert turn.error is None
    told = [(message["role"], said(message)) for message in turn.body["messages"][-5:]]
    assert told == [
        ("user", "look"),
        ("assistant", "I look"),
        ("tool", "ran bash"),
        ("assistant", "found it"),
        ("user", "continue"),
    ]
