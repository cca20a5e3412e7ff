"""A turn written into an attached database of opencode as it runs (``processor.ports.TurnStore``): short guarded
transactions.

V1 only: a V2 row without its event has stopped upgrades of the client (docs/contract/rules.md#0.3), so a V2 session is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from sessions_app.domain import dialects
from sessions_app.domain.model import V2, Row, SessionRows
from sessions_app.domain.processor.shapes import RowDrop, RowPut, Spent, Write
from sessions_app.domain.repair import RowChange

from .changes import GuardRefused
from .ground import StoreError
from .journal import Journal
from .sqlite.store import SqliteStore

V2_REFUSED = (
    "Rows of this V2 session cannot be added to the client's own file: rows without their events have stopped upgrades"
    " of it, and its events are not known or its numbers are not right."
)


class FileTurnStore:
    """One session of a database. Raises ``StoreError`` where it is not there, or is a V2 session ("read-only").

    Each write is one transaction that compares the rows with what this store wrote last, so another client that writes
    the same session is never overwritten: ``GuardRefused``. ``journal`` keeps a restore point of every write.
    """

    def __init__(self, path: Path, session_id: str, journal: Journal | None = None) -> None:
        self._store = SqliteStore(path)
        self._session_id, self._journal = session_id, journal
        self._known: dict[tuple[str, str], Row] = {}
        try:
            if dialects.decode(self.rows()).dialect == V2:
                raise StoreError("read-only", path, V2_REFUSED)
        except StoreError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    def rows(self) -> SessionRows:
        return self._store.read(self._session_id)

    def write(self, writes: Sequence[Write]) -> None:
        changes = [self._change(write) for write in writes if not isinstance(write, Spent)]
        spent = [write for write in writes if isinstance(write, Spent)]
        try:
            self._apply([*changes, *self._sums(spent)])
        except GuardRefused as refusal:
            # The client touches the session row at any time; sums are counted again on what it is now.
            if not spent or any(difference.table != "session" for difference in refusal.changed):
                raise
            self._apply([*changes, *self._sums(spent)])
        for change in changes:
            key = (change.table, str(change.key["id"]))
            if change.after is None:
                self._known.pop(key, None)
            else:
                self._known[key] = change.after

    def _apply(self, changes: Sequence[RowChange]) -> None:
        if changes:
            self._store.apply(changes, journal=self._journal)

    def _change(self, write: RowPut | RowDrop) -> RowChange:
        before = self._known.get((write.table, write.id))
        if isinstance(write, RowDrop):
            return RowChange(write.table, {"id": write.id}, before, None)
        table = self._store.schema.real(write.table)
        columns = write.row if table is None else {name: write.row.get(name) for name in table.columns}
        return RowChange(write.table, {"id": write.id}, before, dict(columns))

    def _sums(self, spent: Sequence[Spent]) -> list[RowChange]:
        """The session row with what was spent added, where its version keeps sums (1.15 on)."""
        row = self._store.row("session", {"id": self._session_id}) if spent else None
        if row is None:
            return []
        return [RowChange("session", {"id": self._session_id}, row, summed(row, spent))]


def summed(row: Row, spent: Sequence[Spent]) -> Row:
    """A session row with the sums and the time that steps bring. Columns it does not have stay away."""
    after = dict(row)
    for step in spent:
        named = {
            "cost": step.cost,
            "tokens_input": step.input,
            "tokens_output": step.output,
            "tokens_reasoning": step.reasoning,
            "tokens_cache_read": step.cache_read,
            "tokens_cache_write": step.cache_write,
        }
        for column, more in named.items():
            if isinstance(after.get(column), (int, float)):
                after[column] += more
        if isinstance(after.get("time_updated"), int):
            after["time_updated"] = max(after["time_updated"], step.at)
    return after
