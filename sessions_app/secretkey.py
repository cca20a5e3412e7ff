"""The signing key: made on first use and kept in the data directory, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def kept_key(directory: Path) -> str:
    """The key in ``directory/secret_key``, made there (mode 0600) when there is none.

    Two processes that start at once agree: the file appears complete or not at all, and the first one wins.
    """
    path = directory / "secret_key"
    try:
        if not path.exists():
            _make(path)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise ImproperlyConfigured(
            f"The signing key {path} can be neither read nor made ({problem}); set SUTURE_SECRET_KEY or SUTURE_DATA_DIR"
        ) from problem
    if len(key) < 32:
        raise ImproperlyConfigured(
            f"The signing key in {path} is shorter than 32 characters; delete the file to have a new one made"
        )
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(64) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
