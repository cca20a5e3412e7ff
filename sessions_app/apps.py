"""The one app of the project."""

from __future__ import annotations

from django.apps import AppConfig


class SessionsAppConfig(AppConfig):
    """``sessions`` is taken by django.contrib.sessions, hence the label."""

    name = "sessions_app"
    label = "sessions_app"
    verbose_name = "Suture"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import checks, signins  # noqa: F401  registers the system checks and the signals
