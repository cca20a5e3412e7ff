"""``suture probe`` and ``suture compact`` on bare files, against a provider on loopback."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessions_app.models import Probe
from tests.providers.scripted import Answer, chat_end, chat_text, scripted
from tests.services.test_probing import ACCEPTED, refused
from tests.stores_of import copied

ROOT = Path(__file__).parents[2]
SUMMARY = Answer((*chat_text("## Goal\n", "List files."), *chat_end()))


def suture(*arguments: str, url: str = "", data: Path) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    environment = known | {"SUTURE_DATA_DIR": str(data)}
    if url:
        environment |= {"SUTURE_PROVIDER_FAKE_URL": f"{url}/v1", "SUTURE_PROVIDER_FAKE_KEY": "secret-key"}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def messages(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT data FROM message ORDER BY time_created, id").fetchall()
    return [json.loads(data) for (data,) in rows]


def test_a_probe_without_send_says_where_how_much_would_go_and_sends_nothing(tmp_path: Path) -> None:
    path = copied("clean", tmp_path)
    with scripted(ACCEPTED) as served:
        done = suture("probe", str(path), "--json", url=served.url, data=tmp_path / "data")

    told = json.loads(done.stdout)
    assert (done.returncode, told["sent"], told["host"]) == (0, False, served.url.removeprefix("http://"))
    assert f"{told['size']:,} bytes to {told['host']}" in done.stderr
    assert served.requests == []
    assert not (tmp_path / "data" / "suture.db").exists()


def test_a_probe_that_is_accepted_exits_0_and_one_that_is_refused_1(tmp_path: Path) -> None:
    path = copied("dup_id_slow", tmp_path)
    words = "Duplicate value for 'tool_call_id' of functions.bash:0 in message[2]"
    with scripted(refused(words), ACCEPTED) as served:
        first = suture("probe", str(path), "--send", url=served.url, data=tmp_path / "data")
        second = suture("probe", str(path), "--send", "--as-repaired", "--json", url=served.url, data=tmp_path / "data")

    assert first.returncode == 1
    assert words in first.stdout and "prt_" in first.stdout
    assert second.returncode == 0
    assert json.loads(second.stdout)["answer"] == "accepted"
    assert "secret-key" not in first.stdout + first.stderr + second.stdout + second.stderr


def test_a_probe_writes_the_very_bytes_it_sends(tmp_path: Path) -> None:
    path, payload = copied("clean", tmp_path), tmp_path / "payload.json"
    with scripted(ACCEPTED) as served:
        suture("probe", str(path), "--send", "--payload", str(payload), url=served.url, data=tmp_path / "data")

    assert served.requests[0][2] == payload.read_bytes()


@pytest.mark.parametrize("command", ["probe", "compact"])
def test_without_an_endpoint_it_is_bad_usage(tmp_path: Path, command: str) -> None:
    done = suture(command, str(copied("clean", tmp_path)), "--send", data=tmp_path / "data")

    assert done.returncode == 2
    assert "no endpoint is configured for the provider 'fake'" in done.stderr


def test_compact_asks_first_then_writes_and_undo_takes_it_back(tmp_path: Path) -> None:
    path, data = copied("compact_fail_400", tmp_path), tmp_path / "data"
    before = messages(path)
    with scripted(SUMMARY, SUMMARY) as served:
        asked = suture("compact", str(path), url=served.url, data=data)
        dry = suture("compact", str(path), "--send", "--dry-run", url=served.url, data=data)
        assert (asked.returncode, dry.returncode) == (0, 0)
        assert "characters of conversation to 127.0.0.1" in asked.stderr
        assert "List files." in dry.stdout
        assert messages(path) == before and len(served.requests) == 1
        done = suture("compact", str(path), "--send", "--json", url=served.url, data=data)

    told = json.loads(done.stdout)
    assert (done.returncode, told["summary"], told["accepted"]) == (0, "## Goal\nList files.", True)
    made = messages(path)
    assert made[: len(before)] == before
    assert [message["role"] for message in made[len(before) :]] == ["user", "assistant"]
    assert made[-1]["summary"] is True and made[-1]["finish"] == "stop"

    undone = suture("undo", told["repair"], data=data)

    assert undone.returncode == 0, undone.stderr
    assert messages(path) == before


def test_compact_to_a_copy_leaves_the_file_alone(tmp_path: Path) -> None:
    path = copied("clean", tmp_path)
    before = messages(path)
    with scripted(SUMMARY) as served:
        done = suture(
            "compact",
            str(path),
            "--send",
            "--output",
            str(tmp_path / "new.db"),
            url=served.url,
            data=tmp_path / "data",
        )

    assert done.returncode == 0, done.stderr
    assert messages(path) == before
    assert messages(tmp_path / "new.db")[-1]["summary"] is True


def test_a_v2_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    done = suture(
        "compact",
        str(copied("v2-gen1", tmp_path)),
        "--send",
        "--target",
        "openai-chat:fake/fake-1",
        url="http://127.0.0.1:9",
        data=tmp_path / "data",
    )

    assert done.returncode == 1
    assert "have stopped upgrades" in done.stderr


def test_a_probe_of_a_known_file_is_kept_in_its_history(tmp_path: Path) -> None:
    path, data = copied("clean", tmp_path), tmp_path / "data"
    suture("import", str(path), data=data)
    with scripted(ACCEPTED) as served:
        suture("probe", str(path), "--send", url=served.url, data=data)

    with closing(sqlite3.connect(data / "suture.db")) as connection:
        kept = connection.execute(f"SELECT answer, actor FROM {Probe._meta.db_table}").fetchall()
    assert kept == [("accepted", "command")]
