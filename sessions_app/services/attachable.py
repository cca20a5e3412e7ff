"""Which files of this machine may be attached through a face: those below the folders of ``SUTURE_ATTACH_ROOTS``."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


class AttachRefused(Exception):
    """The path may not be attached; the message says why."""


def attachable_path(text: str) -> Path:
    """The path a user named, with ``~`` and links resolved. Raises ``AttachRefused``."""
    if not text or "\x00" in text:
        raise AttachRefused("Give the whole path of a database file, a storage folder or an export.")
    try:
        path = Path(text).expanduser()
        if not path.is_absolute():
            raise AttachRefused("Give the whole path, beginning with / or ~.")
        path = path.resolve()
    except (OSError, RuntimeError) as problem:
        raise AttachRefused(f"This path cannot be looked up: {problem}") from problem
    if not any(path.is_relative_to(Path(root).resolve()) for root in settings.SUTURE_ATTACH_ROOTS):
        raise AttachRefused(
            "Files of this machine may not be attached from there. Upload it, or have SUTURE_ATTACH_ROOTS name its"
            " folder."
        )
    return path
