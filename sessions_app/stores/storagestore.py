"""The JSON storage tree of opencode 1.0 and 1.1 (docs/contract/formats.md#a2): one file per row, written one by one.

A file that is empty, full of NULs or cut short becomes a row with its text as it is and a problem
(docs/contract/rules.md#2.26); the rest goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessions_app.domain.jsontext import NotJson, encoded, members, skip_space, with_members
from sessions_app.domain.model import V1, DialectName, Row, SessionRows
from sessions_app.domain.patience import paced
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rowdoc import rows_hash

from . import infocolumns
from .atomic import remove_durably, write_atomic
from .base import Hook, Mark, Problem, Store, StoreError, fingerprint
from .changes import Difference, GuardRefused, after_key, differences, reading_back, same_row
from .holders import Holder, holders
from .storagefiles import (
    IDS,
    file_bytes,
    folders,
    id_members,
    is_storage,
    json_files,
    linked,
    made,
    number,
    parsed_row,
    stamp_of,
)

MAX_FILE_BYTES = 512 * 1024 * 1024


class StorageStore(Store):
    """``path`` is the ``storage`` folder itself. Links inside the tree are not followed."""

    kind = "storage"
    writable = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.root = self.path
        self._index: dict[tuple[str, str], Path] | None = None
        self._strays: dict[str, list[str]] | None = None
        self._seen: dict[Path, tuple[tuple[str, int, int], Row]] = {}
        self._told: set[Problem] = set()
        if not is_storage(path):
            raise StoreError(
                "empty-folder",
                path,
                "The folder holds no sessions of opencode.",
                "Give the storage folder, or the folder that holds opencode.db.",
            )

    @property
    def dialects(self) -> tuple[DialectName, ...]:
        return (V1,)

    def sessions(self) -> Iterator[Row]:
        found: list[Problem] = []
        rows = [self._session_row(session_id, path, found) for session_id, path in self._session_files().items()]
        self._tell(found)
        yield from sorted(rows, key=lambda row: (number(row.get("time_updated")), row["id"]), reverse=True)

    def stored(self, session_id: str) -> SessionRows:
        files = self._session_files()
        if session_id not in files:
            raise StoreError("no-session", self.path, f"There is no session {session_id}.")
        found: list[Problem] = []
        session = self._session_row(session_id, files[session_id], found)
        messages: list[Row] = []
        time = 0
        for path in paced(json_files(self.root / "message" / session_id)):
            messages.append(self._row_of("message", path, {"session_id": session_id, "time": time}, found))
            time = messages[-1]["time_created"]
        parts: list[Row] = []
        for message in paced(messages):
            parts += self._parts(message["id"], session_id, message["time_created"], found)
        for stray in self._stray_parts().get(session_id, ()):
            parts += self._parts(stray, session_id, 0, found)
        self._tell(found)
        return SessionRows(
            session=session,
            messages=sorted(messages, key=lambda row: (row["time_created"], row["id"])),
            parts=sorted(parts, key=lambda row: (row["message_id"], row["id"])),
            projects=self._projects(),
            siblings=self._siblings(session, files),
        )

    def row(self, table: str, key: Mapping[str, Any]) -> Row | None:
        path = self._paths().get((table, str(key["id"])))
        if path is None or not path.is_file():
            return None
        if table == "session":
            return self._session_row(str(key["id"]), path, [])
        if table == "project":
            return next((row for row in self._projects() if row["id"] == key["id"]), None)
        return self._message_row(path) if table == "message" else self._part_row(path)

    def mark(self) -> Mark:
        states: dict[str, str] = {}
        for session_id, path in self._session_files().items():
            files = [path]
            with contextlib.suppress(StoreError):  # a link: told when the session is read
                messages = json_files(self.root / "message" / session_id)
                files += messages
                for message in messages:
                    files += json_files(self.root / "part" / message.stem)
            states[session_id] = fingerprint(*(stamp_of(file) for file in files if file is not None))
        return Mark(states)

    def holders(self) -> list[Holder]:
        return holders(list(self._paths().values()) if self._index else [])

    def put_back(self, changes: Sequence[RowChange]) -> None:
        for change in changes:
            self._index = None
            moved = change.after is not None and after_key(change) != change.key
            if moved and self.row(change.table, after_key(change)) is not None:
                self._remove(change.table, after_key(change))
            if not same_row(self.row(change.table, change.key), change.before):
                self._store(change.inverse())

    def _write(self, net: Sequence[RowChange], expect: Mapping[str, str], at: Hook) -> float:
        for session_id, wanted in expect.items():
            if rows_hash(self.read(session_id)) != wanted:
                raise GuardRefused(
                    [Difference("session", session_id, "", "the session was changed since the plan was made")]
                )
        found = [d for change in net for d in differences(change, self.row(change.table, change.key))]
        if found:
            raise GuardRefused(found)
        at("begun")
        try:
            for number, change in enumerate(net):
                self._store(change)
                at(f"row {number}")
        except BaseException:  # Ctrl-C too
            self.put_back(net)
            raise
        finally:
            self._index = self._strays = None
        at("written")
        return 0.0

    def _as_stored(self, net: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
        times = {
            change.after["id"]: self._read_back(change, change.after, 0)["time_created"]
            for change in net
            if change.table == "message" and change.after is not None
        }
        found = []
        for change in net:
            if change.table not in ("session", "message", "part"):
                where = (change.table, str(change.key.get("id")), "")
                raise GuardRefused([Difference(*where, "such rows of a storage tree are not written")])
            if change.after is None:
                found.append(change)
                continue
            owner = change.after.get("message_id")
            time = times.get(owner, 0)
            if change.table == "part" and owner not in times:
                message = self.row("message", {"id": owner})
                time = 0 if message is None else message["time_created"]
            found.append(reading_back(change, self._read_back(change, change.after, time)))
        return tuple(found)

    def _read_back(self, change: RowChange, after: Row, time: int) -> Row:
        """The row that the file of this change will make."""
        text = self._text(change, self._paths().get((change.table, str(change.key["id"]))))
        if change.table == "session":
            return {**infocolumns.session_row(text, skip_space(text, 0)), "id": after["id"]}
        owner = {"session_id": after["session_id"], "message_id": after.get("message_id"), "time": time}
        return parsed_row(change.table, str(after["id"]), text, owner, [])

    def _store(self, change: RowChange) -> None:
        """Write one row's file; a row whose ids changed moves."""
        old = self._paths().get((change.table, str(change.key["id"])))
        if change.after is None:
            self._remove(change.table, change.key)
            return
        new = self._place(change.table, change.after)
        write_atomic(made(new), encoded(self._text(change, old)), mode=0o644 if not new.exists() else None)
        if old is not None and old != new:
            remove_durably(old)
        paths = self._paths()
        paths.pop((change.table, str(change.key["id"])), None)
        paths[change.table, str(change.after["id"])] = new

    def _text(self, change: RowChange, old: Path | None) -> str:
        assert change.after is not None
        current = "" if old is None or not old.is_file() else old.read_bytes().decode("utf-8", "surrogateescape")
        if change.table == "session":
            return infocolumns.edited(current or "{}", change.before or {}, change.after)
        names, front = id_members(current, IDS[change.table])
        new = {name: str(change.after[IDS[change.table][name]]) for name in names}
        return with_members(str(change.after["data"]), new, front=front)

    def _remove(self, table: str, key: Mapping[str, Any]) -> None:
        path = self._paths().pop((table, str(key["id"])), None)
        if path is not None:
            remove_durably(path)

    def _place(self, table: str, row: Row) -> Path:
        parent = {
            "session": row.get("project_id"),
            "message": row.get("session_id"),
            "part": row.get("message_id"),
        }[table]
        for name in (parent, row["id"]):
            if not isinstance(name, str) or not name or name.startswith(".") or "/" in name or "\0" in name:
                raise GuardRefused([Difference(table, str(row["id"]), "", f"{name!r} cannot be a file name")])
        folder = self.root / table / str(parent)
        if folder.is_symlink() or folder.parent.is_symlink():
            raise linked(folder)
        return folder / f"{row['id']}.json"

    def _paths(self) -> dict[tuple[str, str], Path]:
        """(table, id) -> file, for the whole tree."""
        if self._index is None:
            self._index = {("session", key): path for key, path in self._session_files().items() if path is not None}
            for table in ("message", "part"):
                for folder in folders(self.root / table):
                    self._index.update({(table, path.stem): path for path in json_files(folder)})
            self._index.update({("project", path.stem): path for path in json_files(self.root / "project")})
        return self._index

    def _session_files(self) -> dict[str, Path | None]:
        """Session id -> its file; None where only its messages are left."""
        found: dict[str, Path | None] = {}
        for folder in folders(self.root / "session"):
            found.update({path.stem: path for path in json_files(folder)})
        for folder in folders(self.root / "message"):
            found.setdefault(folder.name, None)
        return found

    def _session_row(self, session_id: str, path: Path | None, problems: list[Problem]) -> Row:
        bare: Row = {
            "id": session_id,
            "project_id": None if path is None else path.parent.name,
            "parent_id": None,
            "directory": None,
            "title": None,
            "version": None,
            "revert": None,
            "time_created": None,
            "time_updated": None,
            "time_archived": None,
        }
        if path is None:
            problems.append(
                Problem(
                    f"session {session_id}",
                    "The session's own file is missing; its messages are there.",
                    "corrupt-json",
                    session_id,
                ),
            )
            return bare
        text = self._file_text(path, f"session {session_id}", session_id, problems)
        try:
            if text:
                return {**infocolumns.session_row(text, skip_space(text, 0)), "id": session_id}
        except NotJson as error:
            problems.append(
                Problem(f"session {session_id}", f"{path.name}: {error}", "corrupt-json", session_id),
            )
        return bare

    def _parts(self, message_id: str, session_id: str, time: int, problems: list[Problem]) -> list[Row]:
        owner = {"session_id": session_id, "message_id": message_id, "time": time}
        return [self._row_of("part", path, owner, problems) for path in json_files(self.root / "part" / message_id)]

    def _message_row(self, path: Path) -> Row | None:
        row = self._row_of("message", path, {"session_id": path.parent.name, "time": 0}, [])
        if row["time_created"]:
            return row
        # A broken file takes the time of the message before it, which only reading the session tells.
        return next((row for row in self.read(path.parent.name).messages if row["id"] == path.stem), None)

    def _part_row(self, path: Path) -> Row | None:
        message_file = self._paths().get(("message", path.parent.name))
        message = None if message_file is None else self._message_row(message_file)
        if message is not None:
            session_id, time = message["session_id"], message["time_created"]
        else:
            session_id = next(
                (owner for owner, folders in self._stray_parts().items() if path.parent.name in folders), None
            )
            time = 0
        if session_id is None:
            return None
        return self._row_of("part", path, {"session_id": session_id, "message_id": path.parent.name, "time": time}, [])

    def _row_of(self, table: str, path: Path, owner: Mapping[str, Any], problems: list[Problem]) -> Row:
        """A row out of a file; where the file lies says whose row it is, its name is the id
        (docs/contract/formats.md#a2)."""
        text = self._file_text(path, f"{table} {path.stem}", owner["session_id"], problems)
        return parsed_row(table, path.stem, text, owner, problems)

    def _file_text(self, path: Path, where: str, session_id: str, problems: list[Problem]) -> str:
        """The text of a file as it is; "" where it cannot be read."""
        try:
            content = file_bytes(path, MAX_FILE_BYTES)
            if content is None:
                problems.append(
                    Problem(where, f"{path.name} is too big to be read.", "corrupt-json", session_id),
                )
                return ""
            text = content.decode("utf-8", "surrogateescape")
        except OSError as error:
            problems.append(
                Problem(where, f"{path.name} cannot be read: {error.strerror}.", "corrupt-json", session_id),
            )
            return ""
        if not text:
            problems.append(Problem(where, f"{path.name} is empty (zero bytes).", "corrupt-json", session_id))
        elif not text.strip("\0"):
            problems.append(
                Problem(where, f"{path.name} holds nothing but {len(text)} NUL bytes.", "corrupt-json", session_id),
            )
        return text

    def _stray_parts(self) -> dict[str, list[str]]:
        """Session id -> part folders whose message has no file; the parts themselves name the session."""
        if self._strays is not None:
            return self._strays
        known = {path.stem for folder in folders(self.root / "message") for path in json_files(folder)}
        found: dict[str, list[str]] = {}
        for folder in folders(self.root / "part"):
            if folder.name in known:
                continue
            for path in json_files(folder):
                with contextlib.suppress(NotJson, OSError):
                    text = path.read_bytes().decode("utf-8", "surrogateescape")
                    owner = {member.key: member.value for member in members(text, skip_space(text, 0))[0]}.get(
                        "sessionID"
                    )
                    if isinstance(owner, str):
                        found.setdefault(owner, []).append(folder.name)
                        break
        self._strays = found
        return found

    def _tell(self, problems: Iterable[Problem]) -> None:
        """Each problem is told once, however often its file is read; a tree may have as many as it has files."""
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                self.problems.append(problem)

    def _projects(self) -> list[Row]:
        found = []
        for path in json_files(self.root / "project"):
            try:
                found.append(infocolumns.project_row(path.read_bytes().decode("utf-8", "surrogateescape")))
            except (NotJson, OSError) as error:
                self._tell([Problem(f"project {path.stem}", str(error), "corrupt-json")])
        return found

    def _siblings(self, session: Row, files: Mapping[str, Path | None]) -> list[Row]:
        found = []
        for session_id, path in files.items():
            if session_id != session["id"] and path is not None:
                row = self._known_session(session_id, path)
                if session_id == session.get("parent_id") or row.get("parent_id") == session["id"]:
                    found.append(row)
        return found

    def _known_session(self, session_id: str, path: Path) -> Row:
        """A session's row, read again only where its file has changed."""
        stamp = stamp_of(path)
        seen = self._seen.get(path)
        if seen is None or seen[0] != stamp:
            seen = self._seen[path] = stamp, self._session_row(session_id, path, [])
        return seen[1]
