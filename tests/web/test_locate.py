"""The address of what was read in a pasted error, and how long it lasts."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Message, PastedError, Session
from tests.factories.corpus import attached

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_answer_to_a_pasted_error_has_an_address_to_share_and_keeps_no_key(alice: Client, blocked: Session) -> None:
    secret = "sk-ant-" + "a1B2" * 8
    text = f"401 Unauthorized: invalid x-api-key {secret}"

    first = alice.post("/locate/", {"error": text, "session": blocked.stored_id})
    again = alice.post("/locate/", {"error": text, "session": blocked.stored_id})

    assert first.status_code == 303
    assert first["Location"] == again["Location"]
    assert "Unauthorized" not in first["Location"]
    page = alice.get(first["Location"]).content.decode()
    assert "invalid x-api-key" in page  # the form survives
    assert blocked.stored_id in page
    assert "Not the history: login" in page
    assert secret not in page + PastedError.objects.get().text
    assert "What to do now" in page
    assert "<code>opencode auth login</code>" in page


def test_a_pasted_text_is_forgotten_on_request_and_after_its_time(alice: Client, blocked: Session) -> None:
    address = alice.post("/locate/", {"error": "prompt is too long"})["Location"]
    assert alice.post(address).status_code == 302
    assert alice.get(address).status_code == 404

    address = alice.post("/locate/", {"error": "prompt is too long"})["Location"]
    PastedError.objects.update(created_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    assert alice.get(address).status_code == 404
    alice.post("/locate/", {"error": "another"})
    assert PastedError.objects.count() == 1


def test_an_error_that_a_session_stores_leads_to_it_whatever_it_says(
    alice: Client, blocked: Session, copied: Callable[[str], Path]
) -> None:
    other = Session.objects.filter(source=attached(copied("clean"))).first()
    assert other is not None
    message = Message.objects.filter(session=blocked).last()
    assert message is not None
    said = "The frobnicator of this gateway is out of order today"
    message.error = "APIError"
    message.data = json.dumps({"role": "assistant", "error": {"name": "APIError", "data": {"message": said}}})
    message.save()

    page = alice.post("/locate/", {"error": f"Error: {said}"}, follow=True).content.decode()

    assert f'href="/sessions/{blocked.pk}/?at={message.stored_id}' in page
    assert f'href="/sessions/{other.pk}/' not in page
