"""Operations, plans and row changes (docs/contract/design.md#5).

An operation names what is to change in the dialect's own terms; a dialect compiles operations to row changes (table,
key, before, after), which are what a store writes, a journal keeps and undo inverts.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .model import LINE, Row, line_id, line_row


class _Remove:
    """Marks a JSON member to be taken out."""

    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()

type JsonPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change inside a row's ``data``: the value at ``path`` becomes ``value`` (created if absent), or goes away
    (REMOVE).

    ``raw`` is true where ``value`` is JSON text to be written verbatim. All other bytes of the row stay as they are.
    """

    path: JsonPath
    value: Any
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of one part, message or session.

    replace: ``edits`` change ``data``; ``columns`` change columns (session.project_id, a renumbered id ...). insert:
    ``data`` is the new object (V1 parts and messages only), ``columns`` the row's columns (id, message_id, times ...).
    delete: takes the part (V1 row or V2 content item) or the message (with its parts) away;
    of a V2 message its content alone, of a ``row`` (``message_id``) all that is stored. What V2 keeps beside the
    messages can be mended too: ``input`` (a ``session_input`` row, named by ``message_id``: columns), ``sequence`` (the
    session's ``event_sequence`` row: columns; made where there is none), ``epoch`` (its context epoch: delete).
    """

    action: Literal["delete", "replace", "insert"]
    subject: Literal["part", "message", "row", "session", "input", "sequence", "epoch"]
    message_id: str = ""
    part_id: str = ""
    edits: tuple[Edit, ...] = ()
    data: Mapping[str, Any] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class RowChange:
    """``before`` None = insert, ``after`` None = delete. ``key`` holds the primary key columns as they are before
    (insert: after)."""

    table: str
    key: Row
    before: Row | None
    after: Row | None

    def inverse(self) -> RowChange:
        """The change that takes this one back. Of a whole repair: ``inverted``."""
        row = self.before if self.before is not None else self.after
        assert row is not None
        key = {name: (self.after if self.after is not None else row)[name] for name in self.key}
        return RowChange(self.table, key, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Plan:
    """The operations that repair chosen findings, and the row changes they compile to, made for rows with hash
    ``rows_hash``."""

    session_id: str
    rows_hash: str
    operations: tuple[Operation, ...]
    changes: tuple[RowChange, ...]
    findings: tuple[str, ...] = ()
    """Keys of the findings it repairs."""
    skipped: tuple[tuple[str, str], ...] = ()
    """(finding key, why nothing is planned for it)."""

    @property
    def rules(self) -> list[str]:
        """Codes of the rules whose findings it repairs."""
        return sorted({key.partition(":")[0] for key in self.findings})


def inverted(changes: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
    """The changes that take ``changes`` back, in the order they must run."""
    lines = [change for change in changes if change.table == LINE]
    count = _Count(lines) if lines else None
    return tuple(
        count.renumbered(change).inverse() if count and change.table == LINE else change.inverse()
        for change in reversed(changes)
    )


class _Count:
    """The numbers that lines have once changes of lines are written and the files are read again. A line that was
    deleted gets a number between those that are left around it."""

    def __init__(self, changes: Sequence[RowChange]) -> None:
        self._removed: dict[str, list[float]] = {}
        self._added: dict[str, list[float]] = {}
        for change in changes:
            if change.after is None and change.before is not None:
                insort(self._removed.setdefault(change.before["file"], []), change.before["line"])
            elif change.before is None and change.after is not None:
                insort(self._added.setdefault(change.after["file"], []), change.after["line"])
        self._gaps = {
            (file, number): (place + 1) / (len(removed) + 1)
            for file, removed in self._removed.items()
            for place, number in enumerate(removed)
        }
        """How far behind the line in front of it a deleted one stands."""

    def renumbered(self, change: RowChange) -> RowChange:
        """The change with both rows under the line's new number."""
        row = change.after if change.after is not None else change.before
        assert row is not None
        file, number = row["file"], row["line"]
        in_front = bisect(self._added.get(file, []), number) - bisect(self._removed.get(file, []), number)
        now: float = int(number) + in_front
        if change.after is None:
            now += self._gaps[file, number]

        def moved(row: Row | None) -> Row | None:
            return None if row is None else line_row(row["session_id"], file, now, row["data"])

        return RowChange(change.table, {"id": line_id(file, now)}, moved(change.before), moved(change.after))


class OperationError(ValueError):
    """An operation that does not fit the rows it is compiled for, or a change whose ``before`` is not what is
    stored."""
