"""The real client works on in a store that ``suture slim`` made smaller: it resumes, exports, reverts and compacts."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client.opencode import Client, program
from tests.client.provider import ANSWER, Provider
from tests.client.suture import Suture
from tests.paths import CORPUS

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]

SESSIONS = ("clean", "think_clean", "abort_pending", "abort_parallel", "subagent_kill")

type Ask = Callable[..., Any]
"""A request to the client's server: method, path, body."""


@contextmanager
def serving(client: Client) -> Iterator[Ask]:
    """``opencode serve`` in the client's home, until the block ends."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(program()), "serve", "--hostname", "127.0.0.1", "--port", str(port)]
    with (client.home / "serve.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=client.project, env=client.environment, stdout=log, stderr=log)

    def ask(method: str, path: str, body: object = None, timeout: float = 90) -> Any:
        data = None if body is None else json.dumps(body).encode()
        heads = {"content-type": "application/json", "x-opencode-directory": str(client.project)}
        wanted = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, heads, method=method)
        with urllib.request.urlopen(wanted, timeout=timeout) as answer:
            return json.loads(answer.read() or b"null")

    try:
        for _ in range(300):
            try:
                ask("GET", "/session", timeout=3)  # the first one may never be answered
                break
            except OSError:
                time.sleep(0.1)
        yield ask
    finally:
        server.terminate()
        server.wait(timeout=30)


def one(client: Client, sql: str) -> Any:
    with closing(sqlite3.connect(client.database)) as connection:
        return connection.execute(sql).fetchone()[0]


@pytest.fixture
def suture(tmp_path: Path) -> Suture:
    return Suture(tmp_path / "data")


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_a_slimmed_store_is_exported_as_before_and_goes_on(
    opencode: Client, strict: Provider, suture: Suture, tmp_path: Path, name: str
) -> None:
    session = opencode.take(CORPUS / f"{name}.db")
    first = opencode.go_on(session)
    before = opencode.export(session, tmp_path / "before.json").read_text()
    number = one(opencode, f"SELECT seq FROM event_sequence WHERE aggregate_id = '{session}'")

    done = suture.json("slim", str(opencode.database), "--in-place")
    after = opencode.export(session, tmp_path / "after.json").read_text()
    second = opencode.go_on(session, "and once more")

    assert first.code == 0, first.output
    assert done["removed"] > 10 and done["left_whole"] == []
    assert after == before
    assert second.code == 0 and ANSWER in second.output
    assert [turn.error for turn in strict.turns()] == [None, None]
    sent = strict.turns()[-1].body["messages"]
    assert ANSWER in json.dumps(sent) and "and once more" in json.dumps(sent[-1])
    later = f"SELECT count(*) FROM event WHERE aggregate_id = '{session}' AND seq > {number}"
    assert one(opencode, later) == one(opencode, "SELECT max(seq) FROM event_sequence") - number > 0


def test_the_client_reverts_takes_it_back_and_compacts_in_a_slimmed_store(
    opencode: Client, strict: Provider, suture: Suture
) -> None:
    session = opencode.take(CORPUS / "clean.db")
    opencode.go_on(session)
    suture.json("slim", str(opencode.database), "--in-place")
    last = 'SELECT id FROM message WHERE data LIKE \'%"role":"user"%\' ORDER BY time_created DESC LIMIT 1'
    user = one(opencode, last)

    with serving(opencode) as ask:
        reverted = ask("POST", f"/session/{session}/revert", {"messageID": user})
        back = ask("POST", f"/session/{session}/unrevert", {})
        ask("POST", f"/session/{session}/revert", {"messageID": user})
        prompt = {"parts": [{"type": "text", "text": "another way"}]}
        answered = ask("POST", f"/session/{session}/message", prompt)
        compacted = ask("POST", f"/session/{session}/summarize", {"providerID": "fake", "modelID": "fake-1"})
        messages = ask("GET", f"/session/{session}/message")

    assert reverted["revert"]["messageID"] == user
    assert "revert" not in back
    assert ANSWER in json.dumps(answered["parts"])
    assert compacted is True
    assert user not in [message["info"]["id"] for message in messages]
    assert any(part["type"] == "compaction" for message in messages for part in message["parts"])
    again = opencode.go_on(session)
    assert again.code == 0 and ANSWER in again.output
    assert [request.error for request in strict.requests if request.error] == []


def test_a_store_is_slimmed_again_after_the_client_worked_on(
    opencode: Client, strict: Provider, suture: Suture
) -> None:
    session = opencode.take(CORPUS / "clean.db")
    removed = []
    for _ in range(3):
        opencode.go_on(session)
        removed.append(suture.json("slim", str(opencode.database), "--in-place")["removed"])

    assert all(count > 0 for count in removed)
    assert suture.json("slim", str(opencode.database), "--forget-old")["deleted"]
    assert opencode.go_on(session).code == 0
