"""A form that was open for too long."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from sessions_app.models import SavedView
from tests.factories.people import Reader, superuser

pytestmark = pytest.mark.django_db

HERE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def strict() -> Client:
    """A browser whose forms need their token."""
    client = Reader(enforce_csrf_checks=True)
    client.force_login(superuser())
    return client


def test_what_was_typed_is_kept_and_sent_again_with_a_fresh_token(strict: Client) -> None:
    typed = {"name": "My <b>view</b>", "query": "health=blocked", "csrfmiddlewaretoken": "old"}
    refused = strict.post("/views/save/", typed, headers=HERE)

    page = refused.html
    assert refused.status_code == 403
    assert "What you typed is kept." in page
    assert "My &lt;b&gt;view&lt;/b&gt;</p>" in page
    form = re.search(r'<form method="post" action="/views/save/".*?</form>', page)
    assert form
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[0]))
    assert fields.keys() == {"name", "query", "csrfmiddlewaretoken"}
    strict.post("/views/save/", fields | {"name": typed["name"]}, headers=HERE)
    assert SavedView.objects.get().query == "health=blocked"


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_what_another_site_sent_is_not_offered_again(strict: Client, headers: dict[str, str]) -> None:
    refused = strict.post("/views/save/", {"name": "Theirs"}, headers=headers)

    assert refused.status_code == 403
    assert "Theirs" not in refused.html
    assert "Nothing was done." in refused.html


def test_no_password_comes_back(db: None) -> None:
    refused = Reader(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "s3cret"}, headers=HERE)

    assert refused.status_code == 403
    assert "s3cret" not in refused.html
