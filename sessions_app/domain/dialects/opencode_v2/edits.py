"""Operations on V2 messages to row changes: always the same row, in its own shape.

A content item is edited, or taken out of its row's ``content``. An assistant message that is to go keeps its row and
loses its content, which the client sends as nothing. A row goes as a whole only where its client cannot read it: its
events may stay (docs/contract/v2-server.md#repairing), but no row may be without its event
(docs/contract/rules.md#0.3), so none is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sessions_app.domain.dialects.rowedit import changed_columns, edited_data, row_change
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import REMOVE, Edit, Operation, OperationError, RowChange

TABLE = "session_message"


def compile_operations(rows: SessionRows, operations: Iterable[Operation]) -> tuple[RowChange, ...]:
    """The row changes of ``operations`` on rows of ``session_message``, one a row, in order of the rows.

    Raises ``OperationError`` where an operation names a row or item that is not there, or would add or remove a row.
    """
    by_message: dict[str, list[Operation]] = {}
    for operation in operations:
        by_message.setdefault(_owner(operation), []).append(operation)
    changes: list[RowChange] = []
    for row in rows.session_message:
        mine = by_message.pop(str(row.get("id", "")), None)
        if mine:
            after = None if any(operation.subject == "row" for operation in mine) else _applied(row, mine)
            if after != row:
                changes.append(row_change(TABLE, row, after))
    if by_message:
        raise OperationError(f"no message {next(iter(by_message))!r} in {TABLE}")
    return tuple(changes)


def _owner(operation: Operation) -> str:
    return operation.message_id or operation.part_id.rpartition("#")[0]


def _applied(row: Row, operations: Sequence[Operation]) -> Row:
    """``row`` after all of its operations. Items go last, from behind, so that every index means what it meant when
    planned."""
    edits: list[Edit] = []
    gone: set[int] = set()
    emptied = False
    for operation in operations:
        if operation.action == "insert":
            raise OperationError("a V2 message or item cannot be added: it would have no event")
        if operation.subject == "part":
            index = _index(operation)
            if operation.action == "delete":
                gone.add(index)
            edits += (Edit(("content", index, *edit.path), edit.value, edit.raw) for edit in operation.edits)
        elif operation.action == "delete":
            if row.get("type") != "assistant":
                raise OperationError("a V2 row cannot be removed; only an assistant message can be emptied")
            emptied = True
        else:
            edits += operation.edits
            row = changed_columns(row, operation.columns)
    if emptied:
        edits.append(Edit(("content",), []))
    else:
        edits += (Edit(("content", index), REMOVE) for index in sorted(gone, reverse=True))
    return edited_data(row, edits)


def _index(operation: Operation) -> int:
    digits = operation.part_id.rpartition("#")[2]
    if not digits.isdecimal():
        raise OperationError(f"{operation.part_id!r} is no item of a V2 message")
    return int(digits)
