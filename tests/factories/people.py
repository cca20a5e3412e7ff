"""Who is signed in."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client


class Reader(Client):
    """A client whose pages have ``html``: their text with white space folded, which no reader sees."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        if not response.streaming:
            response.html = folded(response.content.decode(errors="replace"))
        return response


def folded(html: str) -> str:
    one_line = re.sub(r"\s+", " ", html)
    return re.sub(r'(["\w]) ?>', r"\1>", one_line)


def superuser(name: str = "alice") -> User:
    """Somebody who may do everything."""
    return User.objects.create_superuser(name, password=name)


def signed_in(user: User) -> Client:
    """The user's browser."""
    client = Reader()
    client.force_login(user)
    return client
