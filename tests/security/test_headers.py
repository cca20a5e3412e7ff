"""Headers that keep a private page private, on every answer."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db

PAGES = [
    "/",
    "/sessions/",
    "/sources/",
    "/nothing-here",
    "/sessions/999/",
    "/login/",
    "/api/v1/sessions",
    "/api/v1/nothing",
    "/repairs/",
    "/locate/",
]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("signed_in", [True, False])
def test_every_answer_forbids_caches_frames_sniffing_and_foreign_scripts(page, signed_in):
    client = Client()
    if signed_in:
        client.force_login(User.objects.create_superuser("alice"))
    headers = client.get(page).headers
    assert "private" in headers["Cache-Control"] and "no-store" in headers["Cache-Control"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
