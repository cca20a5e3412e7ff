"""Session objects (``info`` of an export, a file of the storage tree) as columns of the session table, and back
(docs/contract/formats.md#a2, #a5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sessions_app.domain.jsonedit import edit
from sessions_app.domain.jsontext import Member, NotJson, members
from sessions_app.domain.model import Row
from sessions_app.domain.repair import REMOVE, Edit, JsonPath

_COLUMNS: dict[str, JsonPath] = {
    "id": ("id",),
    "project_id": ("projectID",),
    "workspace_id": ("workspaceID",),
    "parent_id": ("parentID",),
    "slug": ("slug",),
    "directory": ("directory",),
    "path": ("path",),
    "title": ("title",),
    "version": ("version",),
    "share_url": ("share", "url"),
    "summary_additions": ("summary", "additions"),
    "summary_deletions": ("summary", "deletions"),
    "summary_files": ("summary", "files"),
    "summary_diffs": ("summary", "diffs"),
    "metadata": ("metadata",),
    "cost": ("cost",),
    "tokens_input": ("tokens", "input"),
    "tokens_output": ("tokens", "output"),
    "tokens_reasoning": ("tokens", "reasoning"),
    "tokens_cache_read": ("tokens", "cache", "read"),
    "tokens_cache_write": ("tokens", "cache", "write"),
    "revert": ("revert",),
    "permission": ("permission",),
    "agent": ("agent",),
    "model": ("model",),
    "time_created": ("time", "created"),
    "time_updated": ("time", "updated"),
    "time_compacting": ("time", "compacting"),
    "time_archived": ("time", "archived"),
}
"""Columns of the session table (1.18.33, in table order) and where the client's session object keeps them."""

_ALWAYS = (
    "id",
    "project_id",
    "parent_id",
    "directory",
    "title",
    "version",
    "revert",
    "time_created",
    "time_updated",
    "time_archived",
)
"""Columns that every version has; absent in the object means NULL."""

_ELSEWHERE: dict[str, JsonPath] = {"directory": ("location", "directory")}
"""Where 2.x keeps a column (docs/contract/formats.md#c2)."""

_JSON_COLUMNS = frozenset({"summary_diffs", "metadata", "revert", "permission", "model"})
_PATHS = {path: column for named in (_COLUMNS, _ELSEWHERE) for column, path in named.items()}
_NESTED = {path[:length] for path in _PATHS for length in range(1, len(path))}


def session_row(text: str, at: int) -> Row:
    """The row of the session object at ``at``. JSON columns keep their text; members that no column is for become
    columns of their own name (dotted where nested), as JSON text. Raises ``NotJson``."""
    found: dict[str, Any] = {}
    _collect(text, at, (), found)
    row: Row = {column: found.pop(column, None) for column in _COLUMNS if column in found or column in _ALWAYS}
    return {**row, **found}


def edited(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The session object's text with the columns that differ written back; everything else stays byte for byte."""
    edits = []
    top = {member.key: member.value for member in members(text, 0)[0]} if text.startswith("{") else {}
    for column, value in after.items():
        if column in before and type(before[column]) is type(value) and before[column] == value:
            continue
        path = _COLUMNS.get(column, tuple(column.split(".")))
        if column in _ELSEWHERE and isinstance(top.get(str(_ELSEWHERE[column][0])), dict):
            path = _ELSEWHERE[column]
        if value is None:
            edits.append(Edit(path, REMOVE))
        elif column in _JSON_COLUMNS or column not in _COLUMNS:
            edits.append(Edit(path, str(value), raw=True))
        else:
            edits.append(Edit(path, value))
    return edit(text, edits)


def info_text(row: Row) -> str:
    """The client's session object for a row; columns that are NULL are left out."""
    return edited("{}", {}, {column: value for column, value in row.items() if value is not None})


def _collect(text: str, at: int, path: JsonPath, found: dict[str, Any]) -> None:
    for member in members(text, at)[0]:
        here = (*path, member.key)
        if here in _NESTED and isinstance(member.value, dict):
            _collect(text, member.value_start, here, found)
            continue
        column = _PATHS.get(here)
        if column is not None:
            found[column] = _cell(text, member, column in _JSON_COLUMNS)
        else:
            found[".".join(str(step) for step in here)] = text[member.value_start : member.end]


def _cell(text: str, member: Member, is_json: bool) -> Any:
    """Text and numbers as they are; everything else, and JSON columns, as JSON text."""
    value = member.value
    if value is None or (not is_json and isinstance(value, (str, int, float)) and not isinstance(value, bool)):
        return value
    return text[member.value_start : member.end]


def project_row(text: str) -> Row:
    """The row of a project object (docs/contract/formats.md#a2). Raises ``NotJson``."""
    start = text.find("{")
    found, _ = members(text, max(start, 0))
    value = {member.key: member.value for member in found}
    time = value.get("time") if isinstance(value.get("time"), dict) else {}
    assert isinstance(time, dict)
    if not isinstance(value.get("id"), str):
        raise NotJson("No project id", text, 0, cut=False)
    return {
        "id": value["id"],
        "worktree": value.get("worktree"),
        "vcs": value.get("vcs"),
        "name": value.get("name"),
        "time_created": time.get("created"),
        "time_updated": time.get("updated"),
        "time_initialized": time.get("initialized"),
        "sandboxes": json.dumps(value.get("sandboxes", []), separators=(",", ":")),
    }
