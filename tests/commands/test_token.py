"""``suture token``: made once, listed, revoked."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import ApiToken, AuditEntry
from tests.factories.models import source

pytestmark = pytest.mark.django_db


def asks(token: str) -> int:
    return Client(headers={"authorization": f"Bearer {token}"}).get("/api/v1/sources").status_code


def test_a_token_is_printed_once_opens_the_api_and_is_revoked(suture):
    made = suture("token", "create", "nightly")
    token = made.out.strip()

    assert made.code == 0
    assert "read; sources: all" in made.err
    assert asks(token) == 200
    listed = suture("token", "list")
    assert "nightly of local: read" in listed.out
    assert token not in listed.out
    number = str(ApiToken.objects.get().pk)
    assert suture("token", "revoke", number).code == 0
    assert asks(token) == 401
    assert suture("token", "list").out == ""
    assert "opens nothing any more" in suture("token", "list", "--all").out
    assert [entry.sentence for entry in AuditEntry.objects.order_by("id")] == [
        "command made the API token nightly for local with the scopes read",
        "command revoked the API token nightly",
    ]


def test_scopes_sources_and_life_are_kept(suture):
    chosen = source()
    arguments = ("--scope", "read", "--scope", "repair", "--source", chosen.pk, "--source", chosen.path)
    made = suture("token", "create", "ci", *arguments, "--days", "7", "--json").json
    lasting = suture("token", "create", "for good", "--days", "never", "--json").json

    assert (made["scopes"], made["sources"]) == (["read", "repair"], [chosen.pk])
    assert made["expires_at"][:10] > made["created_at"][:10]
    assert (lasting["expires_at"], lasting["sources"]) == (None, None)
    assert [token["number"] for token in suture("token", "list", "--json").json["tokens"]] == [
        lasting["number"],
        made["number"],
    ]
    assert "token" not in suture("token", "list", "--json").json["tokens"][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "x", "--user", "nora"), "no user nora"),
        (("create", "x", "--source", "4711"), "no source 4711"),
        (("create", "x", "--days", "soon"), "neither a number of days nor never"),
        (("create", "x", "--days", "0"), "lives from 1"),
        (("create", " "), "needs a name"),
        (("create", "x", "--scope", "all"), "invalid choice"),
        (("revoke", "4711"), "no token 4711"),
    ],
)
def test_what_makes_no_token_says_why(suture, arguments, words):
    refused = suture("token", *arguments)

    assert refused.code == 2
    assert words in refused.err
    assert not ApiToken.objects.exists()
