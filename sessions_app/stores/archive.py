"""Archives of storage trees and databases (``.tgz``, ``.tar``, ``.zip``), unpacked as hostile files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal, Protocol, cast

from sessions_app.domain.patience import go_on

from .ground import StoreError

_CHUNK = 1 << 20
_BETWEEN = 16 << 20
_SUFFIXES = (".tgz", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2", ".zip")


_MAGIC: dict[bytes, Callable[[Path, Literal["rb"]], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZ": bz2.open,
    b"\xfd7": lzma.open,
}


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """The most that comes out of one archive: files, bytes, and bytes for each byte that it has itself (never fewer in
    all than ``freely``); and the seconds that it may take."""

    files: int = 500_000
    bytes: int = 8 * 1024**3
    ratio: int = 100
    freely: int = 64 * 1024**2
    seconds: float = 20.0


class _Meter:
    """What comes out of an archive, counted and timed."""

    def __init__(self, path: Path, limits: ArchiveLimits) -> None:
        self.path = path
        self.limits = limits
        self.most = min(limits.bytes, max(limits.freely, limits.ratio * path.stat().st_size))
        self.end = time.monotonic() + limits.seconds
        self.size = self.files = 0

    def file(self) -> None:
        self.files += 1
        if self.files > self.limits.files:
            raise StoreError("too-big", self.path, f"The archive holds more than {self.limits.files:,} files.")
        self.add(0)

    def add(self, count: int) -> None:
        go_on()
        self.size += count
        if self.size > self.limits.bytes:
            words = f"The archive unpacks to more than {self.limits.bytes:,} bytes."
            raise StoreError("too-big", self.path, words)
        if self.size > self.most:
            words = f"The archive unpacks to more than {self.limits.ratio} times its own size; no stored session does."
            raise StoreError("too-big", self.path, words, "Give the database or the folder itself.")
        if time.monotonic() > self.end:
            words = f"The archive takes more than {self.limits.seconds:g} seconds to unpack."
            raise StoreError("too-big", self.path, words, "Give the database, or attach the folder in place.")


class _Unpacked:
    """The tar inside its compression, as a stream that is metered also where members are skipped; what stands between
    two files is bounded too, since it is held in memory."""

    def __init__(self, packed: IO[bytes], meter: _Meter) -> None:
        self.packed = packed
        self.meter = meter
        self.between = _BETWEEN

    def read(self, size: int = -1) -> bytes:
        found = self.packed.read(size)
        self.meter.add(len(found))
        self.between -= len(found)
        if self.between < 0:
            raise StoreError("too-big", self.meter.path, "The archive holds something large that is no file.")
        return found


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES)


def unpack(path: Path, dest: Path, limits: ArchiveLimits | None = None) -> None:
    """Unpack regular files and folders only: no links, devices, absolute names or ways up. Raises ``StoreError``."""
    limits = limits or ArchiveLimits()
    meter = _Meter(path, limits)
    try:
        for name, content in _members(path, meter):
            meter.file()
            target = _target(dest, name)
            if target is None:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                while chunk := content.read(_CHUNK):
                    out.write(chunk)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        lzma.LZMAError,
        zlib.error,
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


def _members(path: Path, meter: _Meter) -> Iterator[tuple[str, _Reads]]:
    if path.name.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as packed:
            for info in packed.infolist():
                link = (info.external_attr >> 16) & 0o170000 == 0o120000
                if not info.is_dir() and not link:
                    with packed.open(info) as content:
                        yield info.filename, _Counted(content, meter)
        return
    with path.open("rb") as raw:
        opened = _MAGIC.get(raw.read(2))
    with cast("IO[bytes]", (opened or Path.open)(path, "rb")) as plain:
        stream = _Unpacked(plain, meter)
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as packed_tar:
            for member in packed_tar:
                found = packed_tar.extractfile(member) if member.isfile() else None
                if found is not None:
                    stream.between = member.size + _BETWEEN
                    yield member.name, found
                stream.between = _BETWEEN + (member.size if found is not None else 0)


def _target(dest: Path, name: str) -> Path | None:
    pure = PurePosixPath(name.replace("\\", "/"))
    parts = [part for part in pure.parts if part not in (".", "/")]
    if not parts or pure.is_absolute() or ".." in parts or any("\0" in part or ":" in part for part in parts):
        return None
    return dest.joinpath(*parts)


class _Reads(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Counted:
    """A member of a zip, metered."""

    def __init__(self, content: IO[bytes], meter: _Meter) -> None:
        self.content = content
        self.meter = meter

    def read(self, size: int = -1, /) -> bytes:
        found = self.content.read(size)
        self.meter.add(len(found))
        return found


def discard(path: Path) -> None:
    """Take an unpacked tree away; what is gone already is fine."""
    shutil.rmtree(path, ignore_errors=True)
