"""One odd row, a file that cannot be written whole, a database of Suture's own that is busy: said, and nothing lost."""

from __future__ import annotations

import importlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from sessions_app.management.writing import whole_file
from sessions_app.selectors.paging import Page
from sessions_app.selectors.sessions import SessionPage
from tests.factories.corpus import copied


def test_a_column_of_bytes_costs_no_document(suture, tmp_path: Path) -> None:
    path = copied("dup_id_slow", tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE session SET project_id = X'00FF41'")

    found = suture("scan", path, "--json")

    assert found.code == 1
    [session] = found.json["sessions"]
    assert {"duplicate-call-id-in-message"} <= {finding["rule"] for finding in session["findings"]}
    assert {"$base64": "AP9B"} in [value for finding in session["findings"] for value in finding["details"].values()]
    assert [line["id"] for line in suture("scan", path, "--ndjson").lines] == [session["id"]]


def test_a_session_that_suture_fails_on_costs_no_other(suture, tmp_path: Path, monkeypatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise TypeError("odd")

    monkeypatch.setattr("sessions_app.services.filescan.as_document", fails)

    found = suture("scan", copied("dup_id_slow", tmp_path), "--json")

    assert found.code == 1
    assert [session["health"] for session in found.json["sessions"]] == ["unreadable"]
    assert "TypeError: odd" in found.err


def test_a_file_that_is_stopped_half_way_is_not_there_and_what_was_there_stays(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("before")

    with pytest.raises(KeyboardInterrupt), whole_file(target) as file:
        file.write_text("hal")
        raise KeyboardInterrupt

    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.django_db
def test_a_busy_database_of_sutures_own_is_told_in_a_line(suture, monkeypatch) -> None:
    def busy(**_: object) -> None:
        raise OperationalError("database is locked")

    module = importlib.import_module("sessions_app.management.commands.bulk-repair")
    monkeypatch.setattr(module, "database_prepare", busy)

    run = suture("bulk-repair")

    assert run.code == 1
    assert "Suture's own database is busy" in run.err
    assert "Traceback" not in run.err


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("times", [1, 2])
def test_a_reader_is_asked_once_more_and_then_told(client, alice, monkeypatch, times: int) -> None:
    nothing: Page[Any] = Page((), 1, 1, 0, 50)

    def busy_then(answer: object):
        left = [OperationalError("database is locked")] * times

        def asked(*_: object, **__: object):
            if left:
                raise left.pop()
            return answer

        return asked

    client.force_login(alice)
    monkeypatch.setattr("sessions_app.api.sessions.session_page", busy_then(SessionPage(nothing, ())))
    over_api = client.get("/api/v1/sessions")
    monkeypatch.setattr("sessions_app.web.views.history.repair_page", busy_then(nothing))
    page = client.get("/repairs/")

    assert (over_api.status_code, page.status_code) == ((200, 200) if times == 1 else (503, 503))
    if times == 2:
        assert over_api["Content-Type"] == "application/problem+json"
        assert "own database is busy" in over_api.json()["detail"]
        assert "own database is busy" in page.content.decode().replace("&#x27;", "'")
        assert page["Retry-After"]


@pytest.mark.django_db
def test_what_writes_is_not_asked_twice(client, alice, monkeypatch) -> None:
    asked: list[int] = []

    def busy(*_: object, **__: object) -> None:
        asked.append(1)
        raise OperationalError("database is locked")

    client.force_login(alice)
    monkeypatch.setattr("sessions_app.api.bulk.bulk_start", busy)
    answer = client.post("/api/v1/bulk", {"filter": {}}, content_type="application/json")

    assert (answer.status_code, len(asked)) == (503, 1)
