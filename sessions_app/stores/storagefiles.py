"""The files of a storage tree: which there are, and what their names may be (format A2)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .jsontext import NotJson, members, skip_space


def is_storage(path: Path) -> bool:
    """Whether a folder is a storage tree with sessions in it; later versions keep a ``storage`` folder with diffs only (format A1)."""
    return any(json_files(folder) for table in ("session", "message") for folder in folders(path / table))


def json_files(folder: Path) -> list[Path]:
    """The ``.json`` files of a folder, by name; no links, nothing where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.name.endswith(".json")
                and not entry.name.startswith(".")
                and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def folders(folder: Path) -> list[Path]:
    """The folders in a folder, by name; no links."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def id_members(text: str, ids: Mapping[str, str]) -> tuple[list[str], bool]:
    """Which id members the object has, in its order, and whether they come first; all of them, first, where there is no object."""
    try:
        found, _ = members(text, skip_space(text, 0))
    except NotJson:
        return list(ids), True
    return [member.key for member in found if member.key in ids], bool(found) and found[0].key in ids


def made(path: Path) -> Path:
    """The path, its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def stamp_of(path: Path) -> tuple[str, int, int]:
    """What changes when a file is written: name, size, time."""
    try:
        facts = path.stat()
    except OSError:
        return path.name, 0, 0
    return path.name, facts.st_size, facts.st_mtime_ns
