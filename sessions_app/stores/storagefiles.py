"""The files of a storage tree: which there are, and what their names may be (docs/contract/formats.md#a2)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sessions_app.domain.jsontext import NotJson, members, skip_space, without
from sessions_app.domain.model import Row

from .ground import Problem, StoreError

IDS: dict[str, dict[str, str]] = {
    "message": {"id": "id", "sessionID": "session_id"},
    "part": {"id": "id", "sessionID": "session_id", "messageID": "message_id"},
}
"""Members that are columns in the database and part of the object in files."""


def is_storage(path: Path) -> bool:
    """Whether a folder is a storage tree with sessions in it; later versions keep a ``storage`` folder with diffs only
    (docs/contract/formats.md#a1)."""
    return any(json_files(folder) for table in ("session", "message") for folder in folders(path / table))


def linked(folder: Path) -> StoreError:
    """A folder inside a tree that is a link: what is behind it was not given to us, and without it a session would
    look as if it had lost its messages."""
    return StoreError(
        "not-a-store",
        folder,
        f"{folder.name} is a link, and links inside a storage folder are not followed.",
        "Give the folder that holds the files themselves.",
    )


def json_files(folder: Path) -> list[Path]:
    """The ``.json`` files of a folder, by name; no links, nothing where there is no such folder. Raises ``StoreError``
    where the folder itself is a link."""
    if folder.is_symlink():
        raise linked(folder)
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
    """The folders in a folder, by name; no links. Raises ``StoreError`` where the folder itself is a link."""
    if folder.is_symlink():
        raise linked(folder)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def id_members(text: str, ids: Mapping[str, str]) -> tuple[list[str], bool]:
    """Which id members the object has, in its order, and whether they come first; all of them, first, where there is no
    object."""
    try:
        found, _ = members(text, skip_space(text, 0))
    except NotJson:
        return list(ids), True
    return [member.key for member in found if member.key in ids], bool(found) and found[0].key in ids


def made(path: Path) -> Path:
    """The path, its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def file_bytes(path: Path, limit: int) -> bytes | None:
    """What is in a file, None where that is more than ``limit``. Raises ``OSError``, also where the file has become a
    link."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read() if os.fstat(file.fileno()).st_size <= limit else None


def stamp_of(path: Path) -> tuple[str, int, int]:
    """What changes when a file is written: name, size, time."""
    try:
        facts = path.stat()
    except OSError:
        return path.name, 0, 0
    return path.name, facts.st_size, facts.st_mtime_ns


def parsed_row(table: str, row_id: str, text: str, owner: Mapping[str, Any], problems: list[Problem]) -> Row:
    """The row that a file's text makes; text that is no object is the row's ``data`` as it is."""
    where, session_id = f"{table} {row_id}", owner["session_id"]
    data, value = text, {}
    try:
        start = skip_space(text, 0)
        if text:
            found, end = members(text, start)
            if text[end:].strip():
                raise NotJson("There is more than one value in the file", text, end, cut=False)
            data = text[:start] + without(text, start, end, found, IDS[table]) + text[end:]
            value = {member.key: member.value for member in found}
    except NotJson as error:
        if text.strip("\0"):
            problems.append(Problem(where, f"{row_id}.json: {error}", "corrupt-json", session_id))
    if value.get("id", row_id) != row_id:
        problems.append(
            Problem(
                where,
                f"The file is called {row_id}.json, but the id in it is {value['id']!r}.",
                "",
                session_id,
            ),
        )
    if table == "part":
        times = {"time_created": owner["time"], "time_updated": owner["time"]}
        return {
            "id": row_id,
            "message_id": owner["message_id"],
            "session_id": session_id,
            **times,
            "data": data,
        }
    time = value.get("time")
    inside = time if isinstance(time, dict) else {}
    created = int(number(inside.get("created")) or owner["time"])
    completed = int(number(inside.get("completed")) or created)
    return {
        "id": row_id,
        "session_id": session_id,
        "time_created": created,
        "time_updated": completed,
        "data": data,
    }


def number(value: Any) -> float:
    """A time out of a file; 0 for what is no usable number."""
    return (
        float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53 else 0.0
    )
