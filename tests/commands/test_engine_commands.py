"""``suture probe`` and ``suture compact`` on bare files, against a provider on loopback."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessions_app.models import Probe
from tests.commands.running import Run
from tests.factories.corpus import copied
from tests.providers.scripted import Answer, chat_end, chat_text, scripted
from tests.services.test_probing import ACCEPTED, refused

SUMMARY = Answer((*chat_text("## Goal\n", "List files."), *chat_end()))


@pytest.fixture(autouse=True)
def _no_database(request, monkeypatch) -> None:
    """As on a machine where Suture never served, unless the test asks for a database."""
    if request.node.get_closest_marker("django_db") is None:
        for command, there in (("probe", "database_is_there"), ("undo", "database_may_be_there")):
            monkeypatch.setattr(f"sessions_app.management.commands.{command}.{there}", lambda: False)


@pytest.fixture
def asking(suture, monkeypatch) -> Callable[..., Run]:
    """Runs a command with the provider at ``url``, or with none."""

    def run(*arguments: object, url: str = "") -> Run:
        with monkeypatch.context() as patched:
            if url:
                patched.setenv("SUTURE_PROVIDER_FAKE_URL", f"{url}/v1")
                patched.setenv("SUTURE_PROVIDER_FAKE_KEY", "secret-key")
            return suture(*arguments)

    return run


def messages(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT data FROM message ORDER BY time_created, id").fetchall()
    return [json.loads(data) for (data,) in rows]


def test_a_probe_without_send_says_where_how_much_would_go_and_sends_nothing(
    asking: Callable[..., Run], tmp_path: Path
) -> None:
    path = copied("clean", tmp_path)
    with scripted(ACCEPTED) as served:
        done = asking("probe", str(path), "--json", url=served.url)

    told = done.json
    assert (done.code, told["sent"], told["host"]) == (0, False, served.url.removeprefix("http://"))
    assert f"{told['size']:,} bytes to {told['host']}" in done.err
    assert served.requests == []


def test_a_probe_that_is_accepted_exits_0_and_one_that_is_refused_1(asking: Callable[..., Run], tmp_path: Path) -> None:
    path = copied("dup_id_slow", tmp_path)
    words = "Duplicate value for 'tool_call_id' of functions.bash:0 in message[2]"
    with scripted(refused(words), ACCEPTED) as served:
        first = asking("probe", str(path), "--send", url=served.url)
        second = asking("probe", str(path), "--send", "--as-repaired", "--json", url=served.url)

    assert first.code == 1
    assert words in first.out and "prt_" in first.out
    assert second.code == 0
    assert second.json["answer"] == "accepted"
    assert "secret-key" not in first.out + first.err + second.out + second.err


def test_a_probe_writes_the_very_bytes_it_sends(asking: Callable[..., Run], tmp_path: Path) -> None:
    path, payload = copied("clean", tmp_path), tmp_path / "payload.json"
    with scripted(ACCEPTED) as served:
        asking("probe", str(path), "--send", "--payload", str(payload), url=served.url)

    assert served.requests[0][2] == payload.read_bytes()


@pytest.mark.parametrize("command", ["probe", "compact"])
def test_without_an_endpoint_it_is_bad_usage(asking: Callable[..., Run], tmp_path: Path, command: str) -> None:
    done = asking(command, str(copied("clean", tmp_path)), "--send")

    assert done.code == 2
    assert "no endpoint is configured for the provider 'fake'" in done.err


def test_compact_asks_first_then_writes_and_undo_takes_it_back(asking: Callable[..., Run], tmp_path: Path) -> None:
    path = copied("compact_fail_400", tmp_path)
    before = messages(path)
    with scripted(SUMMARY, SUMMARY) as served:
        asked = asking("compact", str(path), url=served.url)
        dry = asking("compact", str(path), "--send", "--dry-run", url=served.url)
        assert (asked.code, dry.code) == (0, 0)
        assert "characters of conversation to 127.0.0.1" in asked.err
        assert "List files." in dry.out
        assert messages(path) == before and len(served.requests) == 1
        done = asking("compact", str(path), "--send", "--json", url=served.url)

    told = done.json
    assert (done.code, told["summary"], told["accepted"]) == (0, "## Goal\nList files.", True)
    made = messages(path)
    assert made[: len(before)] == before
    assert [message["role"] for message in made[len(before) :]] == ["user", "assistant"]
    assert made[-1]["summary"] is True and made[-1]["finish"] == "stop"

    undone = asking("undo", told["repair"])

    assert undone.code == 0, undone.err
    assert messages(path) == before


def test_compact_to_a_copy_leaves_the_file_alone(asking: Callable[..., Run], tmp_path: Path) -> None:
    path = copied("clean", tmp_path)
    before = messages(path)
    with scripted(SUMMARY) as served:
        done = asking(
            "compact",
            str(path),
            "--send",
            "--output",
            str(tmp_path / "new.db"),
            url=served.url,
        )

    assert done.code == 0, done.err
    assert messages(path) == before
    assert messages(tmp_path / "new.db")[-1]["summary"] is True


def test_a_v2_file_whose_numbers_are_not_right_is_refused_with_the_reason(
    asking: Callable[..., Run], tmp_path: Path
) -> None:
    path = copied("v2-gen1", tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE event_sequence SET seq = 3")
    done = asking(
        "compact",
        str(path),
        "--send",
        "--target",
        "openai-chat:fake/fake-1",
        url="http://127.0.0.1:9",
    )

    assert done.code == 1
    assert "have stopped upgrades" in done.err


@pytest.mark.django_db
def test_a_probe_of_a_known_file_is_kept_in_its_history(asking: Callable[..., Run], tmp_path: Path) -> None:
    path = copied("clean", tmp_path)
    asking("import", path)
    with scripted(ACCEPTED) as served:
        asking("probe", path, "--send", url=served.url)

    assert list(Probe.objects.values_list("answer", "actor")) == [("accepted", "command")]
