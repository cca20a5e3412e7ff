"""Filing a session where its client looks for it: project, directory and path set together (docs/contract/rules.md#2.2,
docs/contract/formats.md#a5).

Measured with client 1.18.33: ``project_id`` is that of the project whose worktree holds the directory, else ``global``;
``path`` is the directory relative to that worktree ("" for the worktree itself), or to ``/`` for ``global``.
"""

from __future__ import annotations

from typing import Any

from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import Operation, OperationError
from sessions_app.domain.rules.hidden import GLOBAL, project_at, relative


def place_of(directory: str, projects: list[Row]) -> tuple[str, str]:
    """(project id, path) that the client computes for a directory, as far as the store's projects tell. Raises
    ``OperationError``."""
    if not directory.startswith("/") or "\x00" in directory:
        raise OperationError("Give the whole path of a folder, beginning with /.")
    wanted = directory.rstrip("/") or "/"
    found = project_at(wanted, projects)
    if found is not None:
        return str(found[0].get("id")), relative(wanted, found[1])
    return GLOBAL, wanted.lstrip("/")


def relink_operations(
    rows: SessionRows, directory: str = "", project_id: str = "", unarchive: bool = True
) -> tuple[Operation, ...]:
    """What files the session in ``directory`` ("" = the one it has) and takes it out of the archive; () where all is so
    already.

    ``project_id``: the project that the directory is known to belong to, where the store's projects do not tell. Raises
    ``OperationError`` where the directory is no path, or its project is not in the store.
    """
    row = rows.session
    wanted = directory or str(row.get("directory") or "")
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
