"""Suture's own database: whether it is there, and bringing its tables up to date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from sessions_app.models import Repair


def database_is_there() -> bool:
    """It can be asked, without making one: commands on bare files must not leave a database behind."""
    file = _file()
    if file is not None and not file.exists():
        return False
    try:
        Repair.objects.exists()
    except DatabaseError:
        return False
    return True


def database_prepare() -> None:
    """Make the data directory and bring the tables up to date."""
    Path(settings.SUTURE_DATA_DIR).mkdir(parents=True, exist_ok=True, mode=0o700)
    if (file := _file()) is not None:
        # Transcripts are in it; the files that SQLite makes beside it take over its permissions.
        file.touch(mode=0o600, exist_ok=True)
    call_command("migrate", verbosity=0, interactive=False, skip_checks=True)


def once_more[T](action: Callable[[], T]) -> T:
    """Do it, and again where our own database was locked for longer than it waits. Raises ``OperationalError``."""
    try:
        return action()
    except OperationalError:
        return action()


def _file() -> Path | None:
    """SQLite's file, None where the tables are elsewhere."""
    used = connections[DEFAULT_DB_ALIAS]
    if not isinstance(used, DatabaseWrapper) or used.is_in_memory_db():
        return None
    return Path(used.settings_dict["NAME"])
