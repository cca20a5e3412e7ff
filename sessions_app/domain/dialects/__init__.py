"""Dialects: what a session's rows or lines mean, and edits written back in their own shape (docs/contract/design.md#2).

``base`` says what a dialect is; those of opencode are registered here, others by ``register``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.jsjson import odd_texts
from sessions_app.domain.model import V2, DialectName, Row, Session, SessionRows, key_column
from sessions_app.domain.repair import Operation, OperationError, RowChange

from .base import Decoded, Dialect, current, dialect_of, dialects, held, named, register, unregister
from .lines import LineDialect
from .opencode_v1 import OpencodeV1
from .opencode_v2 import OpencodeV2

__all__ = [
    "Decoded",
    "Dialect",
    "LineDialect",
    "applied",
    "apply",
    "compile",
    "decode",
    "dialect_of",
    "dialects",
    "held",
    "named",
    "reading",
    "register",
    "rows_hash",
    "unregister",
]

register(OpencodeV1())
register(OpencodeV2())


@undisturbed
def decode(rows: SessionRows, generation: int | None = None, known: Session | None = None) -> Session:
    """The session that ``rows`` hold, both histories where there are two. Never raises for what is stored: rows that do
    not decode are kept, with a fault. ``generation`` says the V2 generation where it is known (else it is told from the
    rows). ``known`` was decoded from most of these very rows: what it made of them is taken as it is."""
    dialect = current(rows)
    before = odd_texts()
    session = Session(id=rows.id, rows=rows, dialect=dialect.name, faults=dialect.session_faults(rows))
    for each in held(rows):
        found = each.decode(rows, generation) if known is None else each.decode_again(rows, generation, known)
        session.histories[each.name] = found.messages
        session.faults += found.faults
        session.orphans += found.orphans
    if odd_texts() == before and (known is None or known.whole is known.rows):
        session.whole = rows
    return session


def reading(session: Session, history: DialectName) -> Session:
    """The session with this one of its histories as the one its client uses; as it is for "" and for one that it does
    not hold."""
    return replace(session, dialect=history) if session.history(history) else session


def compile(rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
    """The row changes that carry out ``operations`` on ``rows``, at most one per row, in the order they can be written.

    Raises ``OperationError`` where an operation names a row or a place that is not there.
    """
    first, *others = held(rows)
    if not others:
        return first.compile(rows, operations)
    shares: dict[str, list[Operation]] = {first.name: [operation for operation in operations if not _owner(operation)]}
    ids = {dialect.name: _ids(rows, dialect) for dialect in others}
    for operation in operations:
        if owner := _owner(operation):
            name = next((name for name, known in ids.items() if owner in known), first.name)
            shares.setdefault(name, []).append(operation)
    return tuple(
        change
        for dialect in (first, *others)
        if shares.get(dialect.name)
        for change in dialect.compile(rows, shares[dialect.name])
    )


def _owner(operation: Operation) -> str:
    """The message that an operation is about, "" for the session and what is kept beside its messages.

    A V2 part is named "<message id>#<index>".
    """
    if operation.subject not in ("part", "message", "row"):
        return ""
    return operation.message_id or operation.part_id.rpartition("#")[0] or operation.part_id


def _ids(rows: SessionRows, dialect: Dialect) -> set[object]:
    tables = rows.tables()
    return {row.get("id") for table in dialect.tables for row in tables[table]}


def apply(rows: SessionRows, changes: Iterable[RowChange]) -> SessionRows:
    """The rows after ``changes``; ``rows`` itself is left alone. Raises ``OperationError`` where a row is not as its
    ``before`` says."""
    session = rows.session
    events = rows.last_event
    stored = rows.tables()
    tables: dict[str, dict[object, Row]] = {}
    for change in changes:
        if change.table == "session":
            if change.before != session or change.after is None:
                raise OperationError(f"session {session.get('id')} is not as it was planned for")
            session = change.after
            continue
        if change.table == "event":
            events = max(events or -1, change.after["seq"]) if change.after is not None else events
            continue
        if change.table not in stored:
            raise OperationError(f"table {change.table} holds no rows of a session")
        table = tables.get(change.table)
        if table is None:
            column = key_column(change.table)
            table = tables[change.table] = {row.get(column): row for row in stored[change.table]}
        _change(table, change)
    shapes = {table: dialect for dialect in dialects() for table in dialect.tables}
    return replace(rows, session=session, last_event=events).with_tables(
        {
            name: shapes[name].ordered(name, table.values()) if name in shapes else list(table.values())
            for name, table in tables.items()
        }
    )


def _change(table: dict[object, Row], change: RowChange) -> None:
    column = key_column(change.table)
    key = change.key.get(column)
    if table.get(key) != change.before:
        raise OperationError(f"{change.table} {key} is not as it was planned for")
    new = None if change.after is None else change.after.get(column)
    if change.after is None:
        del table[key]
    elif change.before is not None and new == key:
        table[key] = change.after
    else:
        table.pop(key, None)
        if new in table:
            raise OperationError(f"{change.table} {new} exists already")
        table[new] = change.after


def applied(session: Session, changes: Iterable[RowChange]) -> Session:
    """The session after changes, read as the same history and generation of V2: a repair may take away what told
    them. Only rows that changed are decoded; the other messages and parts are those of ``session``."""
    generations = {message.generation for message in session.history(V2)}
    after = decode(apply(session.rows, changes), generations.pop() if len(generations) == 1 else None, session)
    return reading(after, session.dialect)


def rows_hash(rows: SessionRows) -> str:
    """SHA-256 (hex) of everything stored of the session itself: what a plan is made for."""
    return current(rows).hash(rows)
