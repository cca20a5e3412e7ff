"""Callers of the API, and sessions to call it about."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from sessions_app.services.access import token_create


@pytest.fixture
def bob(db: None) -> User:
    """Signed in, without any permission."""
    return User.objects.create_user("bob", password="bob")


@pytest.fixture
def token(alice: User) -> str:
    """Alice's bearer token."""
    return token_create(user=alice, name="test", now=timezone.now())[1]


@pytest.fixture
def api(token: str) -> Client:
    """A program that sends Alice's token."""
    return Client(headers={"authorization": f"Bearer {token}"})
