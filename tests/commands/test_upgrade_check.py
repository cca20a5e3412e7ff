"""``suture upgrade-check``, its page and its REST answer: one account of each session, and nothing is written."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Session
from tests.factories.corpus import attached
from tests.factories.people import superuser
from tests.paths import CORPUS

from .running import Suture


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """A session with a call that never ended."""
    return Path(shutil.copy(CORPUS / "kill_running.db", tmp_path / "opencode.db"))


def test_the_command_says_what_would_be_lost_and_what_a_repair_keeps(suture: Suture, stuck: Path) -> None:
    before = stuck.read_bytes()
    run = suture("upgrade-check", stuck, "--json")
    assert run.code == 1
    (session,) = run.json["sessions"]
    assert session["state"] == "loses"
    assert [(loss["kind"], loss["mended"]) for loss in session["losses"]] == [("open-call", True)]
    assert "repair it first" in suture("upgrade-check", stuck).out
    assert stuck.read_bytes() == before

    assert suture("repair", stuck).code == 0
    again = suture("upgrade-check", stuck, "--json")
    assert (again.code, again.json["states"]) == (0, {"kept": 1})


def test_a_store_that_was_upgraded_names_whom_it_left_behind(suture: Suture, clean: Path) -> None:
    with closing(sqlite3.connect(clean, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE session_v2 AS SELECT * FROM session")
    run = suture("upgrade-check", clean, "--json")
    assert (run.code, run.json["states"]) == (1, {"left-behind": 1})


def test_what_cannot_be_read_is_said_and_the_rest_goes_on(suture: Suture, stuck: Path) -> None:
    run = suture("upgrade-check", stuck, "--session", "ses_gone", "--json")
    assert (run.code, run.json["states"]) == (1, {"unreadable": 1})


@pytest.mark.django_db
def test_page_and_rest_say_the_same(stuck: Path) -> None:
    source = attached(stuck)
    client = Client()
    client.force_login(superuser())
    page = client.get(f"/sources/{source.pk}/upgrade/")
    assert page.status_code == 200
    assert "1 call without an end" in page.content.decode()
    assert "Repair it first" in page.content.decode()
    answer = client.get(f"/api/v1/sources/{source.pk}/upgrade-check").json()
    session = Session.objects.get(source=source)
    assert (answer["total"], answer["next"]) == (1, None)
    assert answer["items"][0]["session"] == session.pk
    assert [loss["kind"] for loss in answer["items"][0]["losses"]] == ["open-call"]
    assert client.get("/sources/999/upgrade/").status_code == 404

    stuck.rename(stuck.with_name("away.db"))
    assert "cannot be read just now" in client.get(f"/sources/{source.pk}/upgrade/").content.decode()
    assert client.get(f"/api/v1/sources/{source.pk}/upgrade-check").status_code >= 400
