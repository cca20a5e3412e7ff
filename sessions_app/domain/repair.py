"""Operations, plans and row changes (design 2, 5).

An operation names what is to change in the dialect's own terms; a dialect compiles operations to row changes (table,
key, before, after), which are what a store writes, a journal keeps and undo inverts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .model import Row


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
    delete: takes the part (V1 row or V2 content item) or the message (with its parts) away.
    """

    action: Literal["delete", "replace", "insert"]
    subject: Literal["part", "message", "session"]
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
        """The change that takes this one back."""
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
    return tuple(change.inverse() for change in reversed(changes))


class OperationError(ValueError):
    """An operation that does not fit the rows it is compiled for, or a change whose ``before`` is not what is
    stored."""
