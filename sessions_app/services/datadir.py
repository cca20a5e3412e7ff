"""Where things lie in the data directory, and how large a full backup may get.

Commands on bare files start without Django: where no settings are loaded, these come from where they would take them.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from sessions_app import env


def data_dir() -> Path:
    """The directory of all that is kept; made where it is not there."""
    if (settings := _settings()) is not None:
        return Path(settings.SUTURE_DATA_DIR)
    place = env.data_directory()
    with suppress(OSError):  # told where something is to be written
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place


def database_may_be_there() -> bool:
    """Without asking Suture's own database, and without Django: False means that there is none."""
    return _settings() is not None or bool(env.text("SUTURE_DATABASE_URL")) or env.database_file().exists()


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
    settings = _settings()
    return env.backup_limit() if settings is None else int(settings.SUTURE_BACKUP_LIMIT)


def _settings() -> Any:
    loaded = sys.modules.get("django.conf")
    return loaded.settings if loaded is not None and loaded.settings.configured else None
