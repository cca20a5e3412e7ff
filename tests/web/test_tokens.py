"""The account page: a user's own tokens."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from sessions_app.models import ApiToken
from sessions_app.services.access import token_create
from tests.factories.models import source

pytestmark = pytest.mark.django_db


def made_on(page: str) -> str:
    found = re.search(r"sut_[\w-]{40,}", page)
    assert found
    return found[0]


def test_a_token_is_shown_once_and_opens_what_was_ticked(alice: Client) -> None:
    chosen = source()
    form = {"name": "mine", "scope": ["read"], "reach": "chosen", "source": [chosen.pk], "life": "30"}
    answer = alice.post("/account/", form)
    token = made_on(answer.html)
    program = Client(headers={"authorization": f"Bearer {token}"})

    assert answer["Cache-Control"] == "private, no-store"
    assert [item["id"] for item in program.get("/api/v1/sources").json()] == [chosen.pk]
    assert program.post(f"/api/v1/sources/{chosen.pk}/sync").status_code == 403
    listed = alice.get("/account/").html
    assert "mine" in listed
    assert token not in listed
    assert alice.post(f"/account/tokens/{ApiToken.objects.get().pk}/revoke/").status_code == 302
    assert program.get("/api/v1/sources").status_code == 401


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": " "}, "needs a name"),
        ({"scope": []}, "one or more of the scopes"),
        ({"scope": ["all"]}, "one or more of the scopes"),
        ({"reach": "chosen"}, "none was"),
        ({"life": "9999"}, "Choose how long"),
    ],
)
def test_a_form_that_makes_no_sense_makes_no_token(alice: Client, change: dict[str, object], words: str) -> None:
    answer = alice.post("/account/", {"name": "x", "scope": ["read"], "reach": "all", "life": "30"} | change)

    assert answer.status_code == 422
    assert words in answer.html
    assert not ApiToken.objects.exists()


def test_somebody_elses_token_is_neither_listed_nor_revoked(alice: Client, victor: Client) -> None:
    made, _ = token_create(user=User.objects.get(username="alice"), name="alices own", now=timezone.now())

    assert "alices own" not in victor.get("/account/").html
    assert victor.post(f"/account/tokens/{made.pk}/revoke/").status_code == 404
    made.refresh_from_db()
    assert made.revoked_at is None


def test_the_administration_makes_tokens_for_others_only_for_a_superuser(alice: Client, victor: Client) -> None:
    owner = User.objects.get(username="victor")
    add = "/admin/sessions_app/apitoken/add/"
    form = {"user": owner.pk, "name": "for victor", "scopes": ["read", "repair"], "days": ""}
    made_on(alice.post(add, form).html)

    made = ApiToken.objects.get()
    assert (made.user, made.scopes, made.all_sources, made.expires_at) == (owner, ["read", "repair"], True, None)
    assert victor.get(add).status_code in (302, 403)
    from django.contrib.auth.models import Permission

    owner.is_staff = True
    owner.save()
    owner.user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    stolen = victor.post(add, form | {"user": User.objects.get(username="alice").pk})
    assert "sut_" not in stolen.html
    assert ApiToken.objects.count() == 1
