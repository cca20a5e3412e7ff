"""What is written to the log when a client asks in vain."""

from __future__ import annotations

import io
import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.logs import ClientErrors

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What goes to stderr."""
    [handler] = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler)
        and any(isinstance(each, ClientErrors) for each in handler.filters)
    ]
    written = io.StringIO()
    monkeypatch.setattr(handler, "stream", written)
    return written


@pytest.fixture
def reader() -> Client:
    """Signed in, and allowed nothing."""
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    return client


def test_a_page_that_is_not_there_is_no_news(reader, log):
    assert reader.get("/nowhere/").status_code == 404
    assert reader.get("/api/v1/nowhere").status_code == 404
    assert Client().get("/favicon.ico").status_code in (302, 404)
    assert reader.put("/logout/").status_code == 405
    assert log.getvalue() == ""


def test_what_somebody_may_not_do_is_no_news_and_no_traceback(reader, log):
    assert reader.get("/bulk/").status_code == 403 or reader.post("/sources/attach/").status_code == 403
    assert log.getvalue() == ""


def test_a_wrong_host_and_a_failed_form_check_are_told_in_a_line(log):
    assert Client(headers={"host": "evil.example"}).get("/login/").status_code == 400
    assert Client(enforce_csrf_checks=True).post("/login/").status_code == 403
    lines = log.getvalue().splitlines()
    assert len(lines) == 2
    assert "evil.example" in lines[0] and "CSRF" in lines[1]


def test_what_goes_wrong_in_suture_keeps_its_traceback(reader, log, monkeypatch):
    reader.raise_request_exception = False
    monkeypatch.setattr("sessions_app.web.views.account.REGISTRY", None)
    assert reader.get("/help/").status_code == 500
    assert "Traceback" in log.getvalue()
