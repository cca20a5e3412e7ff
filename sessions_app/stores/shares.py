"""Whether a file lies on a network share, where locks cannot be relied on."""

from __future__ import annotations

import os
from pathlib import Path

_KINDS = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.s3fs")
)
MOUNTS = Path("/proc/self/mounts")


def share_of(path: Path, mounts: Path = MOUNTS) -> str:
    """The kind of share that a file lies on, "" where it is none or cannot be told (only Linux tells)."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    real, best, kind = os.path.realpath(path), "", ""
    for line in lines:
        _, place, name, *_ = line.split(" ")
        place = place.replace("\\040", " ").rstrip("/")
        if len(place) >= len(best) and (real == place or real.startswith(f"{place}/")):
            best, kind = place, name
    return kind if kind in _KINDS else ""
