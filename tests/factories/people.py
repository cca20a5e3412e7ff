"""Who is signed in."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client


def superuser(name: str = "alice") -> User:
    """Somebody who may do everything."""
    return User.objects.create_superuser(name, password=name)


def signed_in(user: User) -> Client:
    """The user's browser."""
    client = Client()
    client.force_login(user)
    return client
