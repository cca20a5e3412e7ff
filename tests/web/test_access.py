"""Who may see and do what, by which method: every page of the dashboard."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app.models import Part, Session, Source
from sessions_app.web.urls import urlpatterns
from tests.factories.people import folded

pytestmark = pytest.mark.django_db(transaction=True)

OPEN = {"login", "login-link", "logout"}
POST_ONLY = {
    "token-revoke",
    "scan",
    "preferences",
    "source-attach",
    "source-upload",
    "source-sync",
    "source-input",
    "source-cancel",
    "source-delete",
    "path-recover",
    "source-recover",
    "source-tidy",
    "source-slim-cancel",
    "source-slim-forget",
    "repair-undo",
    "bulk-start",
    "batch-cancel",
    "batch-undo",
    "batch-retry",
    "logout",
    "probe",
    "compact",
    "compact-cancel",
    "compact-apply",
    "view-save",
    "view-change",
    "view-delete",
    "finding-ignore",
    "finding-mind",
    "part-reveal",
}
BOTH = {"account", "locate", "located", "bulk", "repair", "relink", "source-adopt", "source-relink", "source-slim"}
"""GET shows, POST does."""
NOTHING_THERE = {
    "session_id": 10**9,
    "part_id": 10**9,
    "source_id": 10**9,
    "public_id": "rep_none",
    "number": uuid.UUID(int=1),
    "index": 0,
    "form": "csv",
    "key": "gone",
    "token": "spent",
    "view_id": 10**9,
    "token_id": 10**9,
}


def address(name: str, given: dict[str, object]) -> str:
    pattern = next(item for item in urlpatterns if item.name == name)
    wanted = {key: given[key] for key in pattern.pattern.converters}
    return reverse(f"sessions_app:{name}", kwargs=wanted)


NAMES = sorted(item.name for item in urlpatterns if item.name)


@pytest.mark.parametrize("name", NAMES)
def test_a_visitor_who_is_not_signed_in_is_sent_to_the_login(db: None, name: str) -> None:
    if name in OPEN:
        return
    answer = (
        Client().post(address(name, NOTHING_THERE)) if name in POST_ONLY else Client().get(address(name, NOTHING_THERE))
    )
    assert answer.status_code == 302
    assert answer["location"].startswith("/login/")


@pytest.mark.parametrize("name", sorted(set(NAMES) - OPEN - {"preferences", "help"}))
def test_an_account_without_permissions_hears_what_is_missing(nobody: Client, name: str) -> None:
    answer = (
        nobody.post(address(name, NOTHING_THERE)) if name in POST_ONLY else nobody.get(address(name, NOTHING_THERE))
    )
    assert answer.status_code == 403
    assert "Your account may not" in answer.html


@pytest.mark.parametrize("name", sorted(POST_ONLY))
def test_what_changes_something_cannot_be_asked_for_with_get(alice: Client, name: str) -> None:
    assert alice.get(address(name, NOTHING_THERE)).status_code == 405


@pytest.mark.parametrize("name", sorted(set(NAMES) - POST_ONLY - OPEN - BOTH))
def test_what_only_shows_something_takes_no_post(alice: Client, name: str) -> None:
    assert alice.post(address(name, NOTHING_THERE)).status_code == 405


@pytest.mark.parametrize(
    "name",
    [item.name for item in urlpatterns if item.name not in OPEN and item.pattern.converters],
)
def test_what_is_not_there_is_a_404_in_words(alice: Client, name: str) -> None:
    answer = alice.post(address(name, NOTHING_THERE)) if name in POST_ONLY else alice.get(address(name, NOTHING_THERE))
    assert answer.status_code == 404
    assert "Not found" in answer.html


def test_who_may_only_look_sees_every_page_and_changes_nothing(
    victor: Client, blocked: Session, source: Source
) -> None:
    part = Part.objects.filter(session=blocked).first()
    given = NOTHING_THERE | {"session_id": blocked.pk, "source_id": source.pk, "part_id": part.pk}

    for name in (
        "sessions",
        "session",
        "findings",
        "payload",
        "provider",
        "session-repairs",
        "raw",
        "handback",
        "details",
        "part-raw",
        "sources",
        "source",
    ):
        assert victor.get(address(name, given)).status_code == 200, name
    for name in (
        "probe",
        "compact",
        "compact-apply",
        "repair",
        "source-attach",
        "source-upload",
        "source-sync",
        "source-delete",
        "repair-undo",
        "finding-ignore",
        "finding-mind",
        "part-reveal",
    ):
        assert victor.post(address(name, given)).status_code == 403, name
    assert Session.objects.get(pk=blocked.pk).rows_hash == blocked.rows_hash


def test_a_form_without_its_token_is_refused_with_a_way_on(blocked: Session) -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/login/", {"username": "alice", "password": "alice"})
    assert answer.status_code == 403
    assert "send the form once more" in folded(answer.content.decode())


def test_a_one_time_link_signs_in_once_and_only_when_its_button_is_pressed(db: None) -> None:
    from datetime import UTC, datetime

    from sessions_app.services.access import local_user_ensure, login_link_create

    token = login_link_create(user=local_user_ensure(), now=datetime.now(tz=UTC))
    link = f"/login/link/{token}"
    client, late = Client(), Client()

    assert client.get(link).status_code == 200
    assert client.post(link)["location"] == "/"
    assert client.get("/sessions/").status_code == 200
    again = late.post(link)
    assert again.status_code == 403
    assert "used already" in folded(again.content.decode())
