"""Who else has a file open (docs/contract/design.md#5.4), found out without touching the file.

Opening and closing a database file by other means than SQLite would drop the POSIX locks that this process's own
connections hold on it, so nothing here opens it: /proc tells (Linux), else ``lsof``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CLIENT = re.compile(r"\.?opencode(-[a-z0-9]+)*(\.exe)?")
"""Program names of the client: ``opencode``, ``.opencode``, ``opencode-desktop``; not ``opencode.db``."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the file (or its ``-wal``/``-shm``) open. ``is_client``: its command line names opencode."""

    pid: int
    command: str
    is_client: bool


def holders(paths: Iterable[Path]) -> list[Holder]:
    """Other processes that have one of the files open, by pid. Processes of other users may be missing (best
    effort)."""
    wanted = [Path(os.path.realpath(path)) for path in paths]
    if Path("/proc/self/fd").is_dir():
        pids = _from_proc(wanted) | (_locking(wanted[0]) if wanted else set())
    else:
        pids = _from_lsof(wanted)
    pids.discard(os.getpid())
    return [_holder(pid) for pid in sorted(pids)]


def database_files(path: Path) -> list[Path]:
    """A database with the files that SQLite keeps beside it."""
    return [path, Path(f"{path}-wal"), Path(f"{path}-shm")]


def holders_of(file: tuple[int, int] | None) -> list[Holder]:
    """Other processes that have the file of this device and inode open, under whatever name it was (Linux only)."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            facts = place.stat()
            if (facts.st_dev, facts.st_ino) == file:
                found.add(int(place.parts[2]))
    return [_holder(pid) for pid in sorted(found - {os.getpid()})]


def _locking(path: Path) -> set[int]:
    """Processes that hold a lock on a database, as /proc/locks lists them."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return set()
    inodes = set()
    for file in database_files(path):
        with suppress(OSError):
            inodes.add(file.stat().st_ino)
    pids = set()
    for line in lines:
        fields = line.split()
        if "->" in fields or len(fields) < 8:
            continue
        pid, inode = int(fields[4]), int(fields[5].rpartition(":")[2])
        if inode in inodes and pid > 0:
            pids.add(pid)
    return pids


def _from_proc(wanted: list[Path]) -> set[int]:
    """Plain strings and calls: every repair of a batch comes through here, past thousands of descriptors."""
    names = {str(path) for path in wanted}
    found = set()
    for process in os.listdir("/proc"):
        if not process.isdigit():
            continue
        try:
            descriptors = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for descriptor in descriptors:
            try:
                if os.readlink(f"/proc/{process}/fd/{descriptor}") in names:
                    found.add(int(process))
                    break
            except OSError:
                continue
    return found


def _from_lsof(wanted: list[Path]) -> set[int]:
    program = shutil.which("lsof")
    present = [str(path) for path in wanted if path.exists()]
    if program is None or not present:
        return set()
    try:
        answer = subprocess.run(
            [program, "-t", "--", *present], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    return {int(line) for line in answer.stdout.split() if line.isdigit()}


def _holder(pid: int) -> Holder:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        words = _command_by_ps(pid)
    words = [word for word in words if word]
    names = [Path(word).name.lower() for word in words[:3]]
    return Holder(pid, " ".join(words)[:200], any(_CLIENT.fullmatch(name) for name in names))


def _command_by_ps(pid: int) -> list[str]:
    program = shutil.which("ps")
    if program is None:
        return []
    try:
        answer = subprocess.run(
            [program, "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.split()
