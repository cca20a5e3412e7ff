"""A store in one look, by command, page and API; nothing private is in it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from tests.factories.corpus import attached
from tests.factories.people import signed_in, superuser
from tests.paths import CORPUS
from tests.stores.test_slimming import changed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a store of the client's, a second channel, and the folders beside."""
    home = tmp_path / "ann"
    data = home / ".local" / "share" / "opencode"
    for folder, size in (("snapshot/p1", 3_000), ("tool-output", 2_000), ("log", 1_000)):
        (data / folder).mkdir(parents=True)
        (data / folder / "file").write_bytes(b"x" * size)
    shutil.copy(CORPUS / "dup_id_slow.db", data / "opencode.db")
    shutil.copy(CORPUS / "clean.db", data / "opencode-dev.db")
    changed(data / "opencode.db", "UPDATE session SET title = 'my secret plan'")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("OPENCODE_DB", raising=False)
    return data


def test_all_stores_of_the_machine_are_told_with_sizes_states_and_what_is_next(suture, home: Path) -> None:
    done = suture("doctor", "--json")

    assert done.code == 1
    own, channel = done.json["stores"]
    assert own["path"] == "~/.local/share/opencode/opencode.db" and own["native"]
    assert channel["path"].endswith("opencode-dev.db")
    assert own["versions"] == {"1.18.33": 1} and own["sessions"] == 1
    assert own["health"]["blocked"] == 1 and own["refused"] == 1 and own["hidden"] == 1
    space = own["space"]
    assert space["events"] == 13_198
    assert space["rows"] + space["events"] + space["free"] == (home / "opencode.db").stat().st_size
    assert (space["snapshots"], space["tool_output"], space["logs"]) == (3_000, 2_000, 1_000)
    assert [step["command"] for step in own["next"]] == [
        "suture repair ~/.local/share/opencode/opencode.db",
        "suture relink ~/.local/share/opencode/opencode.db",
    ]


def test_nothing_private_is_told(suture, home: Path) -> None:
    told = suture("doctor", "--json").out + suture("doctor").out

    with closing(sqlite3.connect(home / "opencode.db")) as connection:
        [(session, directory)] = connection.execute("SELECT id, directory FROM session").fetchall()
    for private in ("my secret plan", "do a thing", session, directory, str(home), "/ann"):
        assert private not in told


def test_in_words_it_is_for_people(suture, home: Path) -> None:
    told = suture("doctor", str(home / "opencode.db")).out

    assert "1 session, made by 1.18.33 (1)" in told
    assert "event log" in told and "snapshots" in told
    assert "Next:  suture repair" in told


def test_a_store_that_is_mostly_log_is_to_be_slimmed_and_its_old_file_to_be_deleted(suture, home: Path) -> None:
    path = home / "opencode-dev.db"
    changed(path, "CREATE TABLE waste (text)", "INSERT INTO waste VALUES (zeroblob(22000000))", "DROP TABLE waste")

    before = suture("doctor", str(path), "--json").json["stores"][0]
    assert suture("slim", str(path), "--in-place").code == 0
    after = suture("doctor", str(path), "--json").json["stores"][0]

    assert before["space"]["free"] > 21_000_000
    assert [step["command"].split()[1] for step in before["next"]][-1] == "slim"
    assert after["space"]["free"] == 0 and after["space"]["kept"] > 21_000_000
    assert after["next"][-1]["command"].endswith("--forget-old")


def test_a_store_that_cannot_be_read_costs_the_others_nothing(suture, home: Path) -> None:
    (home / "opencode.db").write_bytes(b"no database, but long enough to be looked at" * 40)

    done = suture("doctor", "--json")

    broken, other = done.json["stores"]
    assert done.code == 1
    assert "There is no session in this text" in broken["problem"] and "looked at" not in broken["problem"]
    assert broken["space"]["rows"] > 0
    assert other["problem"] == "" and other["sessions"] == 1


def test_without_a_store_it_says_so(suture, home: Path) -> None:
    for path in home.glob("opencode*.db*"):
        path.unlink()

    assert suture("doctor").code == 2


@pytest.mark.django_db(transaction=True)
def test_page_and_api_show_the_same(home: Path, data_dir: Path) -> None:
    source = attached(home / "opencode.db")
    client: Client = signed_in(superuser())

    page = client.get(f"/sources/{source.pk}/store/").content.decode()
    told = client.get(f"/api/v1/sources/{source.pk}/doctor").json()

    assert "<svg" in page and "What takes the space" in page and "Snapshots" in page
    assert 'style="' not in page
    assert told["health"]["blocked"] == 1 and told["space"]["snapshots"] == 3_000
    assert "my secret plan" not in json.dumps(told)
