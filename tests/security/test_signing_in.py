"""Wrong passwords: counted, told, and not looked at any more after too many."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from sessions_app.models import AuditEntry
from sessions_app.signins import client_address

pytestmark = pytest.mark.django_db


@pytest.fixture
def few(settings) -> None:
    settings.AXES_FAILURE_LIMIT = 3


def tries(name: str, password: str, address: str = "10.0.0.1", page: str = "/login/") -> int:
    return Client(REMOTE_ADDR=address).post(page, {"username": name, "password": password}).status_code


def told() -> list[str]:
    return [entry.sentence for entry in AuditEntry.objects.order_by("id")]


def test_after_too_many_wrong_passwords_not_even_the_right_one_is_looked_at(few: None, alice: User) -> None:
    wrong = "alice could not sign in: a wrong name or password, from 10.0.0.1"

    assert [tries("alice", "guess") for _ in range(3)] == [200, 200, 429]
    answer = Client(REMOTE_ADDR="10.0.0.1").post("/login/", {"username": "alice", "password": "alice"})
    assert answer.status_code == 429
    assert answer["Retry-After"] == "900"
    assert "Try again in 15 minutes" in answer.content.decode()
    assert tries("alice", "alice", page="/admin/login/") == 429
    locked = "alice was locked out after too many wrong passwords from 10.0.0.1"
    assert sorted(told()) == [wrong, wrong, wrong, locked]
    assert tries("alice", "alice", "10.0.0.2") == 302, "nobody else is locked out"


def test_a_lock_ends(few: None, alice: User, settings) -> None:
    from datetime import timedelta

    for _ in range(3):
        tries("alice", "guess")
    settings.AXES_COOLOFF_TIME = timedelta(microseconds=1)
    assert tries("alice", "alice") == 302


def test_success_forgets_earlier_failures(few: None, alice: User) -> None:
    assert [tries("alice", word) for word in ("guess", "guess", "alice", "guess", "guess", "alice")] == [
        200, 200, 302, 200, 200, 302,
    ]  # fmt: skip


def test_what_is_typed_in_place_of_a_name_is_not_kept(few: None, db: None) -> None:
    tries("my-secret-password", "oops")
    assert tries("nul\0name", "oops") == 200

    assert told() == ["somebody unknown could not sign in: a wrong name or password, from 10.0.0.1"]
    assert "my-secret-password" not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    ("proxy", "headers", "found"),
    [
        (False, {"REMOTE_ADDR": "10.1.1.1", "HTTP_X_FORWARDED_FOR": "6.6.6.6"}, "10.1.1.1"),
        (True, {"REMOTE_ADDR": "10.1.1.1", "HTTP_X_FORWARDED_FOR": "6.6.6.6, 9.9.9.9"}, "9.9.9.9"),
        (True, {"REMOTE_ADDR": "10.1.1.1"}, "10.1.1.1"),
        (True, {"REMOTE_ADDR": "10.1.1.1", "HTTP_X_FORWARDED_FOR": "unknown"}, "0.0.0.0"),
        (False, {"REMOTE_ADDR": ""}, "0.0.0.0"),
        (False, {"REMOTE_ADDR": "2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2::"),
        (False, {"REMOTE_ADDR": "::ffff:10.1.1.1"}, "10.1.1.1"),
    ],
)
def test_a_client_cannot_choose_its_address(settings, proxy: bool, headers: dict[str, str], found: str) -> None:
    settings.SUTURE_BEHIND_PROXY = proxy

    assert client_address(RequestFactory().get("/sessions/", **headers)) == found
