"""Background jobs as pages show them."""

from __future__ import annotations

from datetime import datetime

from django.tasks import task_backends
from django.tasks.backends.immediate import ImmediateBackend

from sessions_app.services.workers import worker_is_alive


def nobody_works(now: datetime) -> bool:
    """Jobs wait for a worker, and none said within the last half minute that it lives."""
    return not isinstance(task_backends["default"], ImmediateBackend) and not worker_is_alive(now=now)
