"""What opencode's two dialects share: one session row, one hash over all tables, rows whose key is ``id``."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence

from sessions_app.domain import jsjson
from sessions_app.domain.model import Row, RowFault, SessionRows
from sessions_app.domain.repair import Operation, OperationError, RowChange

from .base import Dialect
from .opencode_v1_schema import UNEXPECTED
from .rowedit import changed_columns, row_change

_JSON_COLUMNS = ("summary_diffs", "revert", "permission", "metadata", "model")


class OpencodeDialect(Dialect):
    """Rows of tables in opencode's database."""

    def session_faults(self, rows: SessionRows) -> list[RowFault]:
        """JSON columns that are not JSON; the client parses them whenever it loads the session."""
        faults = []
        for column in _JSON_COLUMNS:
            value = rows.session.get(column)
            if isinstance(value, str):
                try:
                    jsjson.loads(value)
                except ValueError as error:
                    words = str(error)
                    faults.append(RowFault("session", rows.id, column, words, "corrupt-json", True, UNEXPECTED))
        return faults

    def compile(self, rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        of_session = [operation for operation in operations if operation.subject == "session"]
        of_rows = [operation for operation in operations if operation.subject in ("part", "message", "row")]
        beside = [operation for operation in operations if operation.subject in ("input", "sequence", "epoch")]
        return (
            *_session_changes(rows.session, of_session),
            *(self.compile_rows(rows, of_rows) if of_rows else ()),
            *(_beside(rows, operation) for operation in beside),
        )

    @abstractmethod
    def compile_rows(self, rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        """As ``compile``, for operations on messages and parts."""

    def hash(self, rows: SessionRows) -> str:
        """Order of rows and of columns does not count; the projects and sibling sessions are other sessions'
        business."""
        digest = hashlib.sha256()
        tables = (
            ("session", [rows.session]),
            ("message", rows.messages),
            ("part", rows.parts),
            ("session_message", rows.session_message),
            ("session_context_epoch", [] if rows.epoch is None else [rows.epoch]),
            ("session_input", rows.inputs),
            ("event_sequence", [] if rows.sequence is None else [rows.sequence]),
            ("event", [] if rows.last_event is None else [{"seq": rows.last_event}]),
        )
        for table, stored in tables:
            for row in sorted(stored, key=lambda row: str(row.get("id", ""))):
                digest.update(f"\x00{table}".encode())
                for column in sorted(row):
                    value = row[column]
                    raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
                    digest.update(f"\x01{column}\x02{type(value).__name__}\x02{len(raw)}\x02".encode())
                    digest.update(raw)
        return digest.hexdigest()


def reads_v2(rows: SessionRows) -> bool:
    """The client uses the V2 history: the one that is there; of two the one with the newer message
    (docs/contract/v2-server.md#d12); else the one that the client version that made the session uses first."""
    second = bool(rows.session_message or rows.inputs)
    if second != bool(rows.messages):
        return second
    old, new = _newest(rows.messages), _newest([*rows.session_message, *rows.inputs])
    if old != new:
        return new > old
    number = str(rows.session.get("version") or "").partition(".")[0]
    return number.isdigit() and int(number) >= 2


def _newest(rows: Sequence[Row]) -> float:
    times = (row.get("time_created") for row in rows)
    return max((time for time in times if isinstance(time, (int, float))), default=0)


def _beside(rows: SessionRows, operation: Operation) -> RowChange:
    """A change of what V2 keeps beside the messages (docs/contract/v2-server.md#repairing)."""
    if operation.subject == "epoch" and operation.action == "delete" and rows.epoch is not None:
        return row_change("session_context_epoch", rows.epoch, None)
    if operation.subject == "input" and operation.action == "replace":
        row = next((row for row in rows.inputs if row.get("id") == operation.message_id), None)
        if row is not None:
            return row_change("session_input", row, changed_columns(row, operation.columns))
    if operation.subject == "sequence" and operation.action == "replace":
        new = {"aggregate_id": rows.id, "seq": -1, "owner_id": None}
        return row_change("event_sequence", rows.sequence, changed_columns(rows.sequence or new, operation.columns))
    raise OperationError(f"nothing is stored that this could change: {operation.action} {operation.subject}")


def _session_changes(session: Row, operations: Sequence[Operation]) -> Iterable[RowChange]:
    after = session
    for operation in operations:
        if operation.action != "replace" or operation.edits:
            raise OperationError("a session's columns can be replaced, nothing else")
        after = changed_columns(after, operation.columns)
    if after != session:
        yield row_change("session", session, after)
