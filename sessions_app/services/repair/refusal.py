"""A repair that is refused: nothing was written, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sessions_app.domain.model import Row, SessionRows, key_column
from sessions_app.stores.base import StoreError
from sessions_app.stores.changes import GuardRefused

NOTHING_TO_REPAIR: Final = "There is nothing to repair with these options."


class RepairRefused(Exception):
    """Nothing was written. ``kind``: changed (the session is not what the plan was made for), held (a client has the
    file open), nothing (no operation to apply), store (the store cannot be read or written), state (the repair cannot
    be undone), wish (it names what nothing here knows). ``changed`` says what changed, in words; ``cause``
    is the kind of the ``StoreError`` behind "store"."""

    def __init__(self, kind: str, words: str, changed: Sequence[str] = (), cause: str = "") -> None:
        super().__init__(words)
        self.kind = kind
        self.cause = cause
        self.words = words
        self.changed = tuple(changed)


@contextmanager
def refusing() -> Iterator[None]:
    """What a store says against reading or writing it becomes a ``RepairRefused``."""
    try:
        yield
    except StoreError as problem:
        words = f"{problem.words} {problem.next_step}".strip()
        raise RepairRefused("store", words, cause=problem.kind) from problem
    except GuardRefused as refusal:
        raise guard_refusal(refusal) from refusal


def guard_refusal(refusal: GuardRefused) -> RepairRefused:
    """The rows are others than the write was made for."""
    return RepairRefused("changed", str(refusal), [str(difference) for difference in refusal.changed])


def what_changed(before: SessionRows, after: SessionRows, limit: int = 20) -> list[str]:
    """In words, which rows differ."""
    found: list[str] = []
    if before.session != after.session:
        columns = [name for name in after.session if before.session.get(name) != after.session[name]]
        found.append(f"session row: {', '.join(columns) or 'columns'} changed")
    now = after.tables()
    for table, old in before.tables().items():
        found += _table_changes(table, old, now[table])
    return found if len(found) <= limit else [*found[:limit], f"and {len(found) - limit} more"]


def _table_changes(table: str, old: list[Row], new: list[Row]) -> list[str]:
    column = key_column(table)
    was = {row.get(column): row for row in old}
    now = {row.get(column): row for row in new}
    found = [f"{table} {key} was added" for key in now if key not in was]
    found += [f"{table} {key} is gone" for key in was if key not in now]
    return found + [f"{table} {key} changed" for key, row in now.items() if key in was and was[key] != row]
