"""What opencode itself is told about models, read beside the file it keeps its sessions in
(docs/contract/formats.md#a10).

Files are anybody's: each is read up to a limit, only where it is a plain file, and one that cannot be read or
understood is passed over. Nothing of them is kept but what ``knownmodels`` keeps.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from sessions_app.domain.knownmodels import Configuration, Models, jsonc
from sessions_app.domain.model import Row

from .locations import data_directory

MAX_CONFIGURATION: Final = 512 * 1024
"""Bytes of a configuration that are read; a longer file is passed over."""
MAX_CATALOG: Final = 32 * 1024**2
"""Bytes of the list of models: 2 MB as of October 2026."""
MAX_FOLDERS: Final = 12
"""Folders between a session's and its project's that are looked in."""
MAX_PROJECTS: Final = 200
"""Folders of sessions whose projects' configurations are read from one store."""

LONGEST: Final = 1024
"""Characters of the path of a session's folder."""

_NAMES: Final = ("opencode.json", "opencode.jsonc")


class ClientConfiguration:
    """The configuration beside one store, each file read once."""

    def __init__(self, settings: Path, cache: Path, named: str = "", projects: bool = False) -> None:
        """``settings`` and ``cache`` are the client's own folders, ``named`` is ``$OPENCODE_CONFIG``; ``projects``
        looks into the folders of sessions too, where they are this machine's."""
        self._settings, self._cache, self._named, self._projects = settings, cache, named, projects
        self._catalog: Any = None
        self._known: dict[tuple[str, str], Configuration] = {}

    def models(self, session: Row, projects: list[Row]) -> Models:
        """What is known of the models of a session with these rows."""
        folder, root = self._project(session, projects) if self._projects else ("", "")
        if (folder, root) not in self._known and len(self._known) > MAX_PROJECTS:
            folder, root = "", ""
        if (folder, root) not in self._known:
            self._known[folder, root] = self._read(folder, root)
        return Models(self._known[folder, root].find)

    def _project(self, session: Row, projects: list[Row]) -> tuple[str, str]:
        folder = session.get("directory")
        if not isinstance(folder, str) or not folder.startswith("/") or "\x00" in folder or len(folder) > LONGEST:
            return "", ""
        roots = [row.get("worktree") for row in projects if row.get("id") == session.get("project_id")]
        root = roots[0] if roots else None
        inside = isinstance(root, str) and len(root) > 1 and f"{folder}/".startswith(f"{root}/")
        return folder, str(root) if inside else folder

    def _read(self, folder: str, root: str) -> Configuration:
        if self._catalog is None:
            self._catalog = _catalog(self._cache / "models.json")
        files = [self._settings / name for name in ("config.json", *_NAMES)]
        files += [Path(self._named)] if self._named else []
        if folder:
            folders = [Path(folder)]
            while len(folders) < MAX_FOLDERS and folders[0] != Path(root):
                folders.insert(0, folders[0].parent)
            files += [path / name for path in folders for name in _NAMES]
            files += [path / ".opencode" / name for path in folders for name in _NAMES]
        found = [value for path in files if (value := _parsed(path, MAX_CONFIGURATION)) is not None]
        return Configuration.of(found, self._catalog)


def configuration_beside(
    path: Path, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> ClientConfiguration | None:
    """The configuration of the client whose file ``path`` is; None for a file that lies in no client's folder. Folders
    of projects are looked into only where the file is this user's own (docs/contract/design.md#4)."""
    environ = os.environ if environ is None else environ
    folder = path.resolve().parent
    if folder == data_directory(environ, home).resolve():
        own = home or Path.home()
        settings = Path(environ.get("XDG_CONFIG_HOME") or own / ".config") / "opencode"
        cache = Path(environ.get("XDG_CACHE_HOME") or own / ".cache") / "opencode"
        return ClientConfiguration(settings, cache, environ.get("OPENCODE_CONFIG", ""), projects=True)
    if folder.parts[-3:] == (".local", "share", "opencode"):
        other = folder.parents[2]
        return ClientConfiguration(other / ".config" / "opencode", other / ".cache" / "opencode")
    return None


def _catalog(path: Path) -> Any:
    """The client's list of models, {} where there is none."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return {}
    return _catalog_of(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=4)
def _catalog_of(path: Path, changed: int, size: int) -> Any:
    return _parsed(path, MAX_CATALOG) or {}


def _parsed(path: Path, limit: int) -> Any:
    """The value in a file; None where there is none that can be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            data = file.read(limit + 1)
        return jsonc(data.decode()) if len(data) <= limit else None
    except (OSError, ValueError):
        return None
