"""Suture's own database: whether it is there, and bringing its tables up to date."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from sessions_app.models import Repair


def database_is_there() -> bool:
    """It can be asked, without making one: commands on bare files must not leave a database behind."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite" and not connection.is_in_memory_db() and not Path(name).exists():
        return False
    try:
        Repair.objects.exists()
    except DatabaseError:
        return False
    return True


def database_prepare() -> None:
    """Make the data directory and bring the tables up to date."""
    Path(settings.SUTURE_DATA_DIR).mkdir(parents=True, exist_ok=True, mode=0o700)
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():
        # Transcripts are in it; the files that SQLite makes beside it take over its permissions.
        Path(connection.settings_dict["NAME"]).touch(mode=0o600, exist_ok=True)
    call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
