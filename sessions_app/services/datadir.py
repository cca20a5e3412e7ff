"""Where things lie in the data directory."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


def data_dir() -> Path:
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
