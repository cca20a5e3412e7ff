"""Which of two histories is sent is chosen on the payload page and in the API."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Session
from tests.factories.corpus import attached
from tests.factories.v2files import stores, written


@pytest.fixture
def mixed(tmp_path: Path, data_dir: Path, db: None) -> Session:
    path = written(tmp_path / "opencode.db", stores()["mixed_v1_then_v2"])
    return Session.objects.get(source=attached(path))


def test_the_payload_page_shows_the_newer_history_and_offers_the_other(alice: Client, mixed: Session) -> None:
    page = alice.get(f"/sessions/{mixed.pk}/payload/").html
    assert "3 messages of the 1.x client" in page and "2 messages of the 2.x client" in page
    assert "openai-chat:fake/m1" in page
    older = alice.get(f"/sessions/{mixed.pk}/payload/?history=opencode-v1").html
    assert "openai-chat:fake/fake-1" in older


def test_the_api_lowers_the_history_that_is_named(alice: Client, mixed: Session) -> None:
    address = f"/api/v1/sessions/{mixed.pk}/payload"
    newer, older = alice.get(address), alice.get(f"{address}?history=opencode-v1")
    assert "ok done" in newer.content.decode() and "ok done" not in older.content.decode()
    assert alice.get(f"{address}?history=opencode-v7").status_code == 422
    plan = f"/api/v1/sessions/{mixed.pk}/plan"
    assert alice.post(plan, {"history": "opencode-v1"}, content_type="application/json").status_code in (200, 409)
    assert alice.post(plan, {"history": "opencode-v7"}, content_type="application/json").status_code == 422
