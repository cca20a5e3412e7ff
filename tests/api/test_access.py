"""Who may call the API, and in which words it refuses."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from sessions_app.models import ApiToken

pytestmark = pytest.mark.django_db


def is_problem(response, status: int) -> bool:
    document = response.json()
    return (
        response.status_code == status
        and response["content-type"] == "application/problem+json"
        and document["status"] == status
        and bool(document["title"] and document["detail"])
    )


def test_a_caller_without_credentials_hears_401_and_no_login_page(client: Client) -> None:
    response = client.get("/api/v1/sessions")

    assert is_problem(response, 401)
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_token_opens_the_api_and_its_use_is_noted(api: Client) -> None:
    assert api.get("/api/v1/sessions").status_code == 200

    assert ApiToken.objects.get().last_used_at is not None


@pytest.mark.parametrize("change", [{"revoked_at": True}, {"expires_at": True}])
def test_a_revoked_or_expired_token_opens_nothing(api: Client, change: dict[str, bool]) -> None:
    ApiToken.objects.update(**dict.fromkeys(change, timezone.now()))

    assert is_problem(api.get("/api/v1/sessions"), 401)


def test_the_token_of_a_user_who_was_switched_off_opens_nothing(api: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)

    assert is_problem(api.get("/api/v1/sessions"), 401)


def test_somebody_signed_in_may_read_without_a_token(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert client.get("/api/v1/sessions").status_code == 200


def test_somebody_without_permission_is_refused_in_words(client: Client, bob: User) -> None:
    client.force_login(bob)

    response = client.get("/api/v1/sessions")

    assert is_problem(response, 403)
    assert "sessions_app.view_session" in response.json()["detail"]


def test_a_session_login_needs_the_csrf_token_to_change_something(alice: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)

    assert is_problem(browser.post("/api/v1/locate", {"error": "x"}, content_type="application/json"), 403)


def test_a_bearer_token_needs_no_csrf_token(token: str) -> None:
    program = Client(enforce_csrf_checks=True, headers={"authorization": f"Bearer {token}"})

    response = program.post("/api/v1/locate", {"error": "x"}, content_type="application/json")

    assert response.status_code == 200


def test_unknown_addresses_and_methods_are_problems_too(api: Client) -> None:
    assert is_problem(api.get("/api/v1/nothing"), 404)
    assert is_problem(api.get("/api/v1/"), 404)
    refused = api.delete("/api/v1/sessions")
    assert is_problem(refused, 405)
    assert refused["Allow"] == "GET"


def test_a_missing_session_is_named(api: Client) -> None:
    response = api.get("/api/v1/sessions/4711")

    assert is_problem(response, 404)
    assert "4711" in response.json()["detail"]


def test_a_query_that_makes_no_sense_says_where(api: Client) -> None:
    for query, places in (("health=sick&sort=ill", {"query/health", "query/sort"}), ("page=0", {"query/page"})):
        response = api.get(f"/api/v1/sessions?{query}")

        assert is_problem(response, 422)
        assert {place["at"] for place in response.json()["errors"]} == places
