"""Suture's own database does not answer: every face says so in words, and nobody waits for it twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from sessions_app.selectors.paging import Page
from sessions_app.web import middleware

REFUSED = 'connection to server at "127.0.0.1", port 5432 failed: Connection refused'
SAID = [
    OperationalError(REFUSED),
    OperationalError("FATAL:  the database system is shutting down"),
    OperationalError("unable to open database file"),
    InterfaceError("the connection is closed"),
]


def away(error: Exception) -> Callable[..., Any]:
    def execute(*_: object) -> Any:
        raise error

    return execute


@pytest.mark.django_db
@pytest.mark.parametrize("error", SAID, ids=str)
@pytest.mark.parametrize("path", ["/", "/sessions/", "/repairs/", "/api/v1/sessions", "/admin/", "/sources/"])
def test_a_database_that_is_away_is_503_in_words(visitor: Client, error: Exception, path: str) -> None:
    visitor.raise_request_exception = False
    with connection.execute_wrapper(away(error)):
        answer = visitor.get(path)

    assert answer.status_code == 503
    assert "own database cannot be reached" in answer.content.decode().replace("&#x27;", "'")
    assert answer["Retry-After"]


@pytest.mark.django_db
@pytest.mark.parametrize("error", SAID, ids=str)
def test_the_health_pages_answer_without_a_database(client: Client, error: Exception, settings: Any) -> None:
    settings.SUTURE_METRICS_TOKEN = "t"
    with connection.execute_wrapper(away(error)):
        alive, ready = client.get("/healthz"), client.get("/readyz")
        figures = client.get("/metrics", headers={"Authorization": "Bearer t"})

    assert (alive.status_code, ready.status_code, figures.status_code) == (200, 503, 503)
    assert ready.json()["ready"] is False


@pytest.mark.django_db
def test_a_reader_who_has_waited_for_a_lock_does_not_wait_again(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, asked = [0.0], []

    def waits(*_: object, **__: object) -> Page[Any]:
        asked.append(1)
        now[0] += 20
        raise OperationalError("database is locked")

    monkeypatch.setattr(middleware, "monotonic", lambda: now[0])
    monkeypatch.setattr("sessions_app.web.views.history.repair_page", waits)

    answer = visitor.get("/repairs/")

    assert (answer.status_code, len(asked)) == (503, 1)


@pytest.mark.django_db
def test_a_fault_of_ours_is_still_a_500(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OperationalError("no such table: repair")

    visitor.raise_request_exception = False
    monkeypatch.setattr("sessions_app.web.views.history.repair_page", fails)

    assert visitor.get("/repairs/").status_code == 500
