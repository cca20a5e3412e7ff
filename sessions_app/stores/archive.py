"""Archives of storage trees and databases (``.tgz``, ``.tar``, ``.zip``), unpacked as hostile files."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from .ground import StoreError

_SUFFIXES = (".tgz", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2", ".zip")


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """The most files and bytes that come out of one archive."""

    files: int = 500_000
    bytes: int = 8 * 1024**3


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES)


def unpack(path: Path, dest: Path, limits: ArchiveLimits | None = None) -> None:
    """Unpack regular files and folders only: no links, devices, absolute names or ways up. Raises ``StoreError``."""
    limits = limits or ArchiveLimits()
    files = size = 0
    try:
        for name, content in _members(path):
            files += 1
            if files > limits.files:
                raise StoreError("too-big", path, f"The archive holds more than {limits.files:,} files.")
            target = _target(dest, name)
            if target is None:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                while chunk := content.read(1 << 20):
                    size += len(chunk)
                    if size > limits.bytes:
                        raise StoreError("too-big", path, f"The archive unpacks to more than {limits.bytes:,} bytes.")
                    out.write(chunk)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        FileExistsError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise StoreError(
            "not-a-store",
            path,
            f"The archive cannot be unpacked: {error}",
            "Pack it again, or give the folder.",
        ) from error
    except OSError as error:
        raise StoreError(
            "not-a-store",
            path,
            f"The archive cannot be read: {error.strerror}.",
            "Pack it again, or give the folder.",
        ) from error


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if path.name.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as packed:
            for info in packed.infolist():
                link = (info.external_attr >> 16) & 0o170000 == 0o120000
                if not info.is_dir() and not link:
                    with packed.open(info) as content:
                        yield info.filename, content
    else:
        with tarfile.open(path, "r:*") as packed_tar:
            for member in packed_tar:
                found = packed_tar.extractfile(member) if member.isfile() else None
                if found is not None:
                    yield member.name, found


def _target(dest: Path, name: str) -> Path | None:
    pure = PurePosixPath(name.replace("\\", "/"))
    parts = [part for part in pure.parts if part not in (".", "/")]
    if not parts or pure.is_absolute() or ".." in parts or any("\0" in part or ":" in part for part in parts):
        return None
    return dest.joinpath(*parts)


def discard(path: Path) -> None:
    """Take an unpacked tree away; what is gone already is fine."""
    shutil.rmtree(path, ignore_errors=True)
