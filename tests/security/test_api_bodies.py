"""Bodies made to break the API get a problem in words, and a misspelt filter never means every session."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from sessions_app.domain.locate import locate
from sessions_app.models import RepairBatch
from sessions_app.services.access import token_create

pytestmark = pytest.mark.django_db
PROBLEM = "application/problem+json"


@pytest.fixture
def api() -> Client:
    token = token_create(user=User.objects.create_superuser("alice"), name="test", now=timezone.now())[1]
    return Client(headers={"authorization": f"Bearer {token}"}, raise_request_exception=False)


@pytest.mark.parametrize("filters", [{"sorce": 1}, {"healt": "blocked"}, {"q": "x", "x": ""}])
def test_a_bulk_repair_with_a_misspelt_filter_starts_nothing(api, suture, filters):
    answer = api.post("/api/v1/bulk", {"filter": filters}, content_type="application/json")
    assert (answer.status_code, answer["content-type"]) == (422, PROBLEM)
    assert not RepairBatch.objects.exists()
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    assert suture("bulk-repair", "--filter", query).code == 2
    assert not RepairBatch.objects.exists()


def test_a_body_beyond_the_limit_is_413(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    for address in ("/api/v1/locate", "/api/v1/sources"):
        answer = api.post(address, {"error": "x" * 2000}, content_type="application/json")
        assert (answer.status_code, answer["content-type"]) == (413, PROBLEM)


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=\x00"])
def test_a_multipart_body_without_a_boundary_is_a_bad_request(api, kind):
    answer = api.generic("POST", "/api/v1/sources", b"a=b", content_type=kind)
    assert (answer.status_code, answer["content-type"]) == (400, PROBLEM)


@pytest.mark.exhaustive  # seconds each: the patterns read a text of this length slowly
@pytest.mark.parametrize(
    "text",
    [
        "messages.{}.content.0",
        "messages[{}]",
        "input[{}]",
        "contents[{}].parts[0]",
        "messages.{}.member.content.1.member",
    ],
)
def test_a_position_of_a_hundred_thousand_digits_is_read_and_found_nowhere(text):
    locate(text.format("9" * 100_000))
