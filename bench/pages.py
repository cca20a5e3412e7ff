"""Pages through the whole stack (middleware, view, template) in this process: server time, queries, bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.suture import Clock, server_used

REQUESTS = 12
LONGEST = 6.0
"""Seconds after which a page is not asked for again."""


@dataclass(frozen=True, slots=True)
class Page:
    """An address and what htmx says with it; ``once`` where only the first answer counts."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    once: bool = False


def named(*names: str, of: int) -> Page:
    """The session's page of the first name that is known: an older working copy may call it otherwise."""
    from django.urls import get_resolver, reverse

    known = get_resolver("sessions_app.web.urls").reverse_dict
    return Page(reverse(f"sessions_app:{next(name for name in names if name in known)}", args=[of]))


class Browser:
    """Signed in as somebody who may do everything."""

    def __init__(self) -> None:
        from django.contrib.auth.models import User
        from django.test import Client

        user, _ = User.objects.get_or_create(username="bench", is_superuser=True, is_staff=True)
        self._client = Client(SERVER_NAME="localhost")
        self._client.force_login(user)
        self.get(Page("/help/"))  # what every first page would wait for

    def get(self, page: Page) -> bytes:
        response: Any = self._client.get(page.url, headers=page.headers)
        assert response.status_code == 200, (page.url, response.status_code, response.content[:500])
        return b"".join(response.streaming_content) if response.streaming else response.content

    def visit(self, page: Page) -> dict[str, Any]:
        """Seconds of the ``first`` request, of the others by ``cpu`` and ``wall``; ``queries``, ``bytes`` of one."""
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        body, first = self._timed(page)
        times: list[dict[str, float]] = []
        whole = Clock()
        while not page.once and len(times) < REQUESTS and whole.wall < LONGEST:
            times.append(self._timed(page)[1])
        queries = 0
        if not page.once:
            with CaptureQueriesContext(connection) as asked:
                self.get(page)
            queries = len(asked)
        cpu, wall = ([one[clock] for one in times] for clock in ("cpu", "wall"))
        return {"first": first, "cpu": cpu, "wall": wall, "queries": queries, "bytes": len(body)}

    def _timed(self, page: Page) -> tuple[bytes, dict[str, float]]:
        """A page, and its seconds. ``cpu`` has those of a database's server on this machine, or is by the clock."""
        clock, served = Clock(), server_used()
        body = self.get(page)
        taken, then = clock.read(), server_used()
        cpu = taken["wall"] if served is None or then is None else taken["cpu"] + then - served
        return body, taken | {"cpu": cpu}
