"""What the stores that live in one text have in common: export files and row documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.dialects import dialects
from sessions_app.domain.jsontext import decoded, encoded
from sessions_app.domain.model import DialectName, Row, SessionRows, key_column, owner
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rowdoc import rows_hash

from .atomic import write_atomic
from .base import Hook, Mark, Store, StoreError
from .changes import Difference, GuardRefused, after_key, reading_back
from .holders import Holder, holders


class TextStore(Store):
    """Sessions read from one text, all of it in memory. ``on_disk`` is False for text from stdin or an archive."""

    writable = True

    def __init__(self, path: Path, text: str, on_disk: bool = True) -> None:
        super().__init__(path)
        self.text = text
        self.on_disk = on_disk
        self.writable = on_disk
        self.loaded: dict[str, SessionRows] = {}
        self._index: dict[tuple[str, Any], Row] = {}
        undisturbed(self._load)(text)

    @abstractmethod
    def _load(self, text: str) -> None:
        """Fill ``loaded`` and ``problems`` from ``text``."""

    @abstractmethod
    def rendered(self, changes: Sequence[RowChange]) -> str:
        """The text with changed rows, in its own shape; sessions that no change names keep their text."""

    @property
    def dialects(self) -> tuple[DialectName, ...]:
        first, *others = dialects()
        found = [each for each in (first, *others) if any(each.holds(rows) for rows in self.loaded.values())]
        return tuple(each.name for each in found or (first,))

    def sessions(self) -> Iterator[Row]:
        rows = sorted(self.loaded.values(), key=lambda rows: _time(rows.session), reverse=True)
        return iter([each.session for each in rows])

    def stored(self, session_id: str) -> SessionRows:
        try:
            return self.loaded[session_id]
        except KeyError:
            raise StoreError("no-session", self.path, f"There is no session {session_id}.") from None

    def mark(self) -> Mark:
        return Mark({session_id: rows_hash(rows) for session_id, rows in self.loaded.items()})

    def row(self, table: str, key: Mapping[str, Any]) -> Row | None:
        if not self._index:
            for rows in self.loaded.values():
                tables = {**rows.tables(), "session": [rows.session], "project": rows.projects}
                for name, found in tables.items():
                    self._index.update({(name, row.get(key_column(name))): row for row in found})
        return self._index.get((table, key[key_column(table)]))

    def holders(self) -> list[Holder]:
        return holders([self.path]) if self.on_disk else []

    def _as_stored(self, net: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
        fresh = type(self)(self.path, self.rendered(net), on_disk=False)
        return tuple(
            reading_back(change, None if change.after is None else fresh.row(change.table, after_key(change)))
            for change in net
        )

    def _write(self, net: Sequence[RowChange], expect: Mapping[str, str], at: Hook) -> float:
        for session_id, wanted in expect.items():
            if session_id not in self.loaded or rows_hash(self.loaded[session_id]) != wanted:
                raise GuardRefused(
                    [Difference("session", session_id, "", "the session was changed since the plan was made")]
                )
        text = self.rendered(net)
        at("begun")
        self._check_unchanged()
        write_atomic(self.path, encoded(text))
        at("written")
        self.text = text
        self.loaded = {}
        self._index = {}
        self.problems = []
        undisturbed(self._load)(text)
        return 0.0

    def _check_unchanged(self) -> None:
        try:
            now = decoded(self.path.read_bytes())
        except OSError as error:
            raise StoreError("missing", self.path, f"The file cannot be read any more: {error.strerror}.") from error
        if now != self.text:
            raise GuardRefused(
                [Difference("session", "", "", f"the file {self.path.name} was changed since it was opened")]
            )


def changes_of(rows: SessionRows, changes: Sequence[RowChange]) -> tuple[RowChange, ...]:
    """The changes that belong to this session: those of rows it has, and rows that are put into it."""
    found = []
    for change in changes:
        row = change.before if change.before is not None else change.after
        assert row is not None
        if owner(change.table, row) == rows.id or (
            change.table == "project" and any(project.get("id") == row.get("id") for project in rows.projects)
        ):
            found.append(change)
    return tuple(found)


def _time(row: Row) -> tuple[int | float, str]:
    value = row.get("time_updated") or row.get("time_created")
    return (value if isinstance(value, (int, float)) else 0, str(row.get("id", "")))
