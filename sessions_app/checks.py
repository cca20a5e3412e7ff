"""System checks: what would fail later, said at start in one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

_NETWORK_FILESYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


@register(Tags.database)
def data_directory_is_usable(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """suture.E001: the data directory is writable. suture.W001: nobody else may read it (it holds transcripts)."""
    directory = Path(settings.SUTURE_DATA_DIR)
    if not directory.is_dir() or not os.access(directory, os.W_OK | os.X_OK):
        return [
            Error(
                f"The data directory {directory} cannot be written.",
                hint="Set SUTURE_DATA_DIR.",
                id="suture.E001",
            )
        ]
    if stat.S_IMODE(directory.stat().st_mode) & 0o077:
        return [
            Warning(
                f"Others may look into the data directory {directory}.",
                hint=f"chmod 700 {directory}",
                id="suture.W001",
            )
        ]
    return []


@register(Tags.database)
def sqlite_is_on_a_local_disk(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """suture.E002: SQLite's WAL needs shared memory, which a network file system does not give."""
    database = settings.DATABASES["default"]
    if "sqlite" not in database["ENGINE"] or filesystem_of(Path(database["NAME"])) not in _NETWORK_FILESYSTEMS:
        return []
    return [
        Error(
            f"{database['NAME']} is on a network file system, where SQLite's WAL corrupts.",
            hint="Set SUTURE_DATA_DIR to a local disk, or SUTURE_DATABASE_URL.",
            id="suture.E002",
        )
    ]


@register(Tags.security)
def other_hosts_use_https(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """suture.W002: session cookies in the clear anywhere but on loopback. suture.E003: every host accepted."""
    if "*" in settings.ALLOWED_HOSTS:
        return [Error("SUTURE_ALLOWED_HOSTS accepts every host.", hint="Name the hosts.", id="suture.E003")]
    others = [host for host in settings.ALLOWED_HOSTS if host not in _LOOPBACK]
    if others and not settings.SUTURE_HTTPS:
        return [
            Warning(
                f"Cookies travel in the clear to {', '.join(others)}.",
                hint="Put https in front and set SUTURE_HTTPS=1.",
                id="suture.W002",
            )
        ]
    return []


def filesystem_of(path: Path) -> str:
    """Type of the file system that holds ``path`` (Linux), "" where the system does not tell."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    resolved = str(path.resolve())
    for line in mounts:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ").rstrip("/")
        if (resolved == point or resolved.startswith(f"{point}/")) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind
