"""Whatever is sent, the API answers as its document says, and never with a fault of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from django.conf import settings as project
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import given
from schemathesis.checks import CHECKS

from sessions_app.models import Session
from sessions_app.services.access import token_create
from tests.examples import one_in
from tests.factories.corpus import session_of

from .openapi import COMMITTED

pytestmark = [pytest.mark.django_db, pytest.mark.exhaustive]

NAMES = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]
OPERATIONS = [
    (method, path)
    for path, methods in json.loads(COMMITTED.read_text(encoding="utf-8"))["paths"].items()
    for method in methods
]


@pytest.fixture(autouse=True)
def _open_connections() -> Iterator[None]:
    """As Django's own test client does it: a request's end must not close the connection that the test's transaction is
    on."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def described(alice: User, tmp_path: Path, data_dir: Path, monkeypatch) -> schemathesis.BaseSchema:
    """The API in this process, on no network at all, with a session in it."""
    monkeypatch.setattr(project, "SUTURE_ATTACH_ROOTS", [str(tmp_path)])
    monkeypatch.setattr(project, "FILE_UPLOAD_TEMP_DIR", str(tmp_path))
    session_of("dup_id_slow", tmp_path)
    token = token_create(user=alice, name="fuzz", now=timezone.now())[1]
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler())
    schema.config.update(headers={"Authorization": f"Bearer {token}"})
    return schema


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_one_that_the_document_names(
    described: schemathesis.BaseSchema, method: str, path: str
) -> None:
    @given(described[path][method].as_strategy())
    @one_in(6)
    def ask(case: schemathesis.Case) -> None:
        if "sid" in case.path_parameters:  # a random number is hardly ever a session's
            case.path_parameters["sid"] = Session.objects.get().pk
        case.call_and_validate(checks=CHECKS.get_by_names(NAMES))

    ask()
