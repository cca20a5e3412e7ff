"""Filing a session where its client looks for it: project, directory and path set together (docs/contract/rules.md#2.2,
docs/contract/formats.md#a5).

Measured with client 1.18.33: ``project_id`` is that of the project whose worktree holds the directory, else ``global``;
``path`` is the directory relative to that worktree ("" for the worktree itself), or to ``/`` for ``global``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from sessions_app.domain.jsjson import loads
from sessions_app.domain.jsonedit import edit
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import Edit, Operation, OperationError, RowChange
from sessions_app.domain.rules.hidden import GLOBAL, inside, moved_to, project_at, relative, worktrees


@dataclass(frozen=True, slots=True)
class Move:
    """A folder that was moved, both as whole paths."""

    old: str
    new: str

    @classmethod
    def of(cls, old: str, new: str) -> Self:
        """Raises ``OperationError`` where one is no whole path, or nothing moves."""
        move = cls(whole_path(old), whole_path(new))
        if move.old == move.new:
            raise OperationError("Both folders are the same.")
        return move

    def where(self, path: object) -> str:
        """What a path in the old folder becomes; "" where it is not in there."""
        if not isinstance(path, str) or not inside(path.rstrip("/"), self.old.rstrip("/")):
            return ""
        rest = relative(path.rstrip("/"), self.old.rstrip("/"))
        return f"{self.new.rstrip('/')}/{rest}" if rest else self.new


def whole_path(directory: str) -> str:
    """The folder's path without a slash at its end. Raises ``OperationError`` where it does not begin with /."""
    if not directory.startswith("/") or "\x00" in directory:
        raise OperationError("Give the whole path of a folder, beginning with /.")
    return directory.rstrip("/") or "/"


def place_of(directory: str, projects: list[Row]) -> tuple[str, str]:
    """(project id, path) that the client computes for a directory, as far as the store's projects tell. Raises
    ``OperationError``."""
    wanted = whole_path(directory)
    found = project_at(wanted, projects)
    if found is not None:
        return str(found[0].get("id")), relative(wanted, found[1])
    return GLOBAL, wanted.lstrip("/")


def relink_operations(
    rows: SessionRows, directory: str = "", project_id: str = "", unarchive: bool = True
) -> tuple[Operation, ...]:
    """What files the session in ``directory`` ("" = the one it has) and takes it out of the archive; () where all is so
    already.

    ``project_id``: the project that the directory is known to belong to, where the store's projects do not tell. A
    session whose project was moved goes where its project is now. Raises ``OperationError`` where the directory is no
    path, or its project is not in the store.
    """
    row = rows.session
    wanted = directory or moved_to(row, rows.projects) or str(row.get("directory") or "")
    columns: dict[str, Any] = {}
    if wanted:
        found, path = place_of(wanted, rows.projects)
        if project_id and found == GLOBAL:
            found, path = project_id, ""
        if all(project.get("id") != found for project in rows.projects):
            raise OperationError(
                f"The store has no project {found}. Start opencode in {wanted} once, so that it makes the project, then"
                " file the session there."
            )
        columns = {"project_id": found, "directory": wanted.rstrip("/") or "/", "path": path}
    if unarchive and row.get("time_archived"):
        columns["time_archived"] = None
    columns = {column: value for column, value in columns.items() if column in row and row[column] != value}
    if not columns:
        return ()
    return (Operation("replace", "session", columns=columns, why="where its client looks for it"),)


def project_moves(projects: Sequence[Row], move: Move) -> tuple[RowChange, ...]:
    """What moves the projects themselves whose worktree lies in the old folder, as their client does when it is started
    in the new one; none where a project is there already."""
    changes = []
    for project in projects:
        new = move.where(project.get("worktree"))
        if project.get("id") == GLOBAL or not new or any(new in worktrees(other) for other in projects):
            continue
        after = {**project, "worktree": new}
        if isinstance(project.get("sandboxes"), str):
            after["sandboxes"] = _moved_sandboxes(project["sandboxes"], move)
        changes.append(RowChange("project", {"id": project["id"]}, dict(project), after))
    return tuple(changes)


def _moved_sandboxes(text: str, move: Move) -> str:
    try:
        found = loads(text)
    except ValueError:
        return text
    moved = [move.where(path) for path in found] if isinstance(found, list) else []
    return edit(text, [Edit((index,), new) for index, new in enumerate(moved) if new])
