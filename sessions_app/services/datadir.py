"""Where things lie in the data directory."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path


def data_dir() -> Path:
    """As the settings say it. Commands on bare files start without Django, so where no settings are loaded it comes
    from where they would take it."""
    loaded = sys.modules.get("django.conf")
    if loaded is not None and loaded.settings.configured:
        return Path(loaded.settings.SUTURE_DATA_DIR)
    from sessions_app import env  # needs a word of Django's

    place = env.data_directory()
    with suppress(OSError):  # told where something is to be written
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place


def journal_dir() -> Path:
    """Restore points of every repair, by commands and by the web alike."""
    return data_dir() / "journal"


def uploads_dir() -> Path:
    return data_dir() / "uploads"


def samples_dir() -> Path:
    return data_dir() / "samples"


def backups_dir(batch: str = "") -> Path:
    """Full backups: one a database and day; those of a bulk repair are its own."""
    return data_dir() / "backups" / batch if batch else data_dir() / "backups"


def backup_limit() -> int:
    """Bytes of a database up to which it is backed up whole."""
    from django.conf import settings

    return int(settings.SUTURE_BACKUP_LIMIT)
