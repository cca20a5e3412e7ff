"""Which rows belong to which, checked by Suture itself.

SQLite's own enforcement is off while Suture writes: it would delete what belongs to a deleted row without a restore
point, and it would refuse to put rows back that belonged nowhere before a repair (docs/contract/design.md#5.3,
docs/contract/rules.md#2.29).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.model import Row
from sessions_app.domain.repair import RowChange
from sessions_app.stores.changes import Difference, GuardRefused, row_id, same_row

from .binding import where
from .connection import quoted
from .schema import Schema


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key: the ``columns`` of table ``child`` name a row of table ``parent`` by its columns ``to``."""

    child: str
    columns: tuple[str, ...]
    parent: str
    to: tuple[str, ...]


def links(connection: sqlite3.Connection, schema: Schema) -> list[Link]:
    """The foreign keys between the real tables of a database."""
    names = {name.casefold(): name for name in schema.tables}
    found: list[Link] = []
    for child in schema.tables:
        keys: dict[int, list[tuple[Any, ...]]] = {}
        for row in connection.execute(f"PRAGMA foreign_key_list({quoted(child)})"):
            keys.setdefault(row[0], []).append(row)
        for parts in keys.values():
            parent = names.get(str(parts[0][2]).casefold())
            if parent is None:
                continue
            own = tuple(str(part[3]) for part in parts)
            to = tuple(str(part[4]) for part in parts if part[4] is not None) or schema.tables[parent].key
            if len(to) == len(own):
                found.append(Link(child, own, parent, to))
    return found


class Kinship:
    """The foreign keys of one database, asked after rows were written and before that is committed."""

    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self.connection = connection
        self.schema = schema
        self.links = links(connection, schema)

    def check(self, changes: Sequence[RowChange], *, restoring: bool) -> None:
        """No row that was not planned for lost what it belongs to; and no row that was put in or moved belongs nowhere,
        except where ``restoring`` what was so before. Raises ``GuardRefused``."""
        for change in changes:
            table = self.schema.real(change.table)
            if table is None:
                continue
            for link in self.links:
                # Events may have been without their sequence before a repair, and are again after its undo.
                if link.parent == table.name and not (restoring and table.name == "event_sequence"):
                    self._nobody_left(change, link)
                if link.child == table.name and not restoring:
                    self._belongs(change, link)

    def _nobody_left(self, change: RowChange, link: Link) -> None:
        gone = _values(change.before, link.to)
        if gone is None or same_row(_values(change.after, link.to), gone) or self._count(link.parent, gone, 1):
            return
        left = self._count(link.child, dict(zip(link.columns, gone.values(), strict=True)))
        if left:
            words = f"{left} rows of {link.child} belong to it that were not planned for"
            raise GuardRefused([Difference(change.table, row_id(change), "", words)])

    def _belongs(self, change: RowChange, link: Link) -> None:
        own = _values(change.after, link.columns)
        if own is None or same_row(_values(change.before, link.columns), own):
            return
        if not self._count(link.parent, dict(zip(link.to, own.values(), strict=True)), 1):
            words = f"there is no row of {link.parent} that it could belong to (FOREIGN KEY)"
            raise GuardRefused([Difference(change.table, row_id(change), link.columns[0], words)])

    def _count(self, table: str, key: Mapping[str, Any], limit: int = 1_000) -> int:
        condition, values = where(key)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {quoted(table)} WHERE {condition} LIMIT {limit})"
        return int(self.connection.execute(sql, values).fetchone()[0])


def _values(row: Row | None, columns: Sequence[str]) -> Row | None:
    """The columns' values; None where one is NULL or unknown, which ties a row to nothing."""
    if row is None or any(row.get(column) is None for column in columns):
        return None
    return {column: row[column] for column in columns}
