"""Where things lie in the data directory."""

from __future__ import annotations

import hashlib
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


def backups_dir(path: Path) -> Path:
    """Full backups of the file ``path``."""
    digest = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return data_dir() / "backups" / f"{path.name}-{digest}"
