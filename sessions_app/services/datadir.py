"""Where things lie in the data directory."""

from __future__ import annotations

from pathlib import Path


def data_dir() -> Path:
    from django.conf import settings  # read where a place is needed: a scan needs none, and starts without Django

    return Path(settings.SUTURE_DATA_DIR)


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
