"""What every dialect needs to write rows back: columns replaced, ``data`` edited in place, the change of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sessions_app.domain import jsonedit
from sessions_app.domain.model import Row, key_column
from sessions_app.domain.patience import go_on
from sessions_app.domain.repair import Edit, OperationError, RowChange
from sessions_app.domain.rowcodec import to_text


def changed_columns(row: Row, columns: Mapping[str, Any]) -> Row:
    """``row`` with ``columns`` replaced; a JSON column given as an object is written as compact text."""
    return {
        **row,
        **{name: to_text(value) if isinstance(value, (dict, list)) else value for name, value in columns.items()},
    }


def edited_data(row: Row, edits: Iterable[Edit]) -> Row:
    """``row`` with ``edits`` made inside its ``data``. Raises ``OperationError`` where they do not fit what is
    stored."""
    edits = tuple(edits)
    if not edits:
        return row
    go_on()
    raw = row.get("data")
    try:
        if isinstance(raw, bytes):
            text = raw.decode("utf-8", "surrogateescape")
            return {**row, "data": jsonedit.edit(text, edits).encode("utf-8", "surrogateescape")}
        if not isinstance(raw, str):
            raise OperationError(f"{row.get('id')} holds no JSON text")
        return {**row, "data": jsonedit.edit(raw, edits)}
    except jsonedit.EditError as error:
        raise OperationError(f"{row.get('id')}: {error}") from None


def row_change(table: str, before: Row | None, after: Row | None) -> RowChange:
    """The change of one row of a table."""
    row = before if before is not None else after
    assert row is not None
    column = key_column(table)
    return RowChange(table, {column: row.get(column)}, before, after)
