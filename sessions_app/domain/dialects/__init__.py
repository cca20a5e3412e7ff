"""Dialects: what a session's rows mean, and edits written back in the rows' own shape (design 2, 4).

A dialect is a module with two functions: ``decode_messages(rows) -> (messages, faults)`` and
``compile_operations(rows, operations) -> row changes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.model import DialectName, Message, Row, Session, SessionRows
from sessions_app.domain.repair import Operation, OperationError, RowChange

from . import opencode_v1, opencode_v2
from .rowedit import changed_columns, row_change


@undisturbed
def decode(rows: SessionRows, generation: int | None = None) -> Session:
    """The session that ``rows`` hold, both histories where there are two. Never raises for what is stored: rows that do
    not decode are kept, with a fault. ``generation`` says the V2 generation where it is known (else it is told from the
    rows)."""
    faults = opencode_v1.session_faults(rows)
    v1, v1_faults = opencode_v1.decode_messages(rows)
    orphans = opencode_v1.decode_orphans(rows)
    faults += v1_faults
    # No client loads them, so nothing stops at them.
    faults += [replace(part.fault, fatal=False, words="") for part in orphans if part.fault is not None]
    v2: list[Message] = []
    if rows.session_message:
        v2, v2_faults = opencode_v2.decode_messages(rows, generation)
        faults += v2_faults
    return Session(
        id=rows.id,
        rows=rows,
        v1=v1,
        v2=v2,
        dialect=_dialect(rows),
        faults=faults,
        orphans=orphans,
    )


def compile(rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
    """The row changes that carry out ``operations`` on ``rows``, at most one per row, in the order they can be written.

    Raises ``OperationError`` where an operation names a row or a place that is not there.
    """
    v2_ids = {row.get("id") for row in rows.session_message}
    of_session: list[Operation] = []
    of_v1: list[Operation] = []
    of_v2: list[Operation] = []
    for operation in operations:
        if operation.subject == "session":
            of_session.append(operation)
        else:
            # A V2 part is named "<message id>#<index>".
            owner = operation.message_id or operation.part_id.rpartition("#")[0]
            (of_v2 if owner in v2_ids else of_v1).append(operation)
    changes = list(_session_changes(rows.session, of_session))
    if of_v1:
        changes += opencode_v1.compile_operations(rows, of_v1)
    if of_v2:
        changes += opencode_v2.compile_operations(rows, of_v2)
    return tuple(changes)


def apply(rows: SessionRows, changes: Iterable[RowChange]) -> SessionRows:
    """The rows after ``changes``; ``rows`` itself is left alone. Raises ``OperationError`` where a row is not as its
    ``before`` says."""
    session = rows.session
    tables = {
        "message": {row.get("id"): row for row in rows.messages},
        "part": {row.get("id"): row for row in rows.parts},
        "session_message": {row.get("id"): row for row in rows.session_message},
    }
    for change in changes:
        if change.table == "session":
            if change.before != session or change.after is None:
                raise OperationError(f"session {session.get('id')} is not as it was planned for")
            session = change.after
            continue
        table = tables.get(change.table)
        if table is None:
            raise OperationError(f"table {change.table} holds no rows of a session")
        key = change.key.get("id")
        if table.get(key) != change.before:
            raise OperationError(f"{change.table} {key} is not as it was planned for")
        if change.after is None:
            del table[key]
        elif change.before is not None and change.after.get("id") == key:
            table[key] = change.after
        else:
            table.pop(key, None)
            if change.after.get("id") in table:
                raise OperationError(f"{change.table} {change.after.get('id')} exists already")
            table[change.after.get("id")] = change.after
    return replace(
        rows,
        session=session,
        messages=opencode_v1.in_message_order(tables["message"].values()),
        parts=opencode_v1.in_part_order(tables["part"].values()),
        session_message=sorted(tables["session_message"].values(), key=_seq),
    )


def _session_changes(session: Row, operations: Sequence[Operation]) -> Iterable[RowChange]:
    after = session
    for operation in operations:
        if operation.action != "replace" or operation.edits:
            raise OperationError("a session's columns can be replaced, nothing else")
        after = changed_columns(after, operation.columns)
    if after != session:
        yield row_change("session", session, after)


def _dialect(rows: SessionRows) -> DialectName:
    """The history that is there; of two, the one that the client version that made the session uses first."""
    newer = str(rows.session.get("version") or "").partition(".")[0]
    if rows.session_message and rows.messages:
        return "opencode-v2" if newer.isdigit() and int(newer) >= 2 else "opencode-v1"
    if rows.session_message:
        return "opencode-v2"
    if rows.messages:
        return "opencode-v1"
    return "opencode-v2" if newer.isdigit() and int(newer) >= 2 else "opencode-v1"


def _seq(row: Row) -> tuple[bool, float]:
    seq = row.get("seq")
    return (True, 0.0) if not isinstance(seq, (int, float)) else (False, seq)
