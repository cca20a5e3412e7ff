"""Background jobs as pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import QueryDict
from django.tasks import task_backends
from django.tasks.backends.immediate import ImmediateBackend

from sessions_app.services.workers import worker_is_alive

STOP_POLLING = 286
"""htmx's word for: do not ask again."""
_AFTER = 5.0
"""Seconds that are watched before a pace is told."""


def nobody_works(now: datetime) -> bool:
    """Jobs wait for a worker, and none said within the last half minute that it lives."""
    return not isinstance(task_backends["default"], ImmediateBackend) and not worker_is_alive(now=now)


@dataclass(frozen=True, slots=True)
class Pace:
    """``words``: how fast it goes and how long it still takes, "" while that cannot be told. ``since``: what the page
    asks with the next time, so that the pace is that of what it saw itself, and no pause before counts."""

    words: str
    since: str


def pace(asked: QueryDict, done: int, total: int, now: datetime) -> Pace:
    """Of a job that has ``done`` so many of ``total``."""
    first, _, begun = asked.get("since", "").partition("@")
    known = first.isdecimal() and begun.isdecimal() and len(first + begun) < 32 and int(first) <= done
    since = f"{first}@{begun}" if known else f"{done}@{int(now.timestamp() * 1000)}"
    seconds = now.timestamp() - int(begun) / 1000 if known else 0.0
    passed = done - int(first) if known else 0
    if seconds < _AFTER or not passed or done >= total:
        return Pace("", since)
    a_second = passed / seconds
    speed = f"{a_second:,.0f} a second" if a_second >= 2 else f"{max(1, round(a_second * 60)):,} a minute"
    return Pace(f"{speed}, {_left((total - done) / a_second)} left", since)


def _left(seconds: float) -> str:
    if seconds < 45:
        return "less than a minute"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {round(minutes / 60):,} h"
