"""Row changes as a store writes them: folded to one change per row, and compared with what is there
(docs/contract/design.md#5.1, #5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.model import LINE, Row
from sessions_app.domain.repair import RowChange

WRITABLE_TABLES = (
    *("project", "session", "message", "part", "session_message"),
    *("event_sequence", "event", "session_input", "session_context_epoch", LINE),
)
"""Parents before children. Every other table is the client's own business. ``event`` rows come and go only with the V2
row that they tell of; those of the client are left alone (docs/contract/formats.md#a4)."""

type RowName = tuple[str, tuple[tuple[str, Any], ...]]
"""(table, key columns with values): what tells one row from another."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a row is not what the plan saw. ``column`` "" = the row as a whole."""

    table: str
    id: str
    column: str
    reason: str

    def __str__(self) -> str:
        place = f"{self.table} {self.id}" + (f", column {self.column}" if self.column else "")
        return f"{place}: {self.reason}"


class GuardRefused(Exception):
    """Nothing was written, because rows are not what the plan was made for. ``changed`` says which and how."""

    def __init__(self, changed: Sequence[Difference]) -> None:
        self.changed = tuple(changed)
        shown = "; ".join(str(difference) for difference in self.changed[:5])
        more = f" and {len(self.changed) - 5} more" if len(self.changed) > 5 else ""
        super().__init__(f"Refused, nothing was written: {shown}{more}.")


def name_of(table: str, key: Mapping[str, Any]) -> RowName:
    return table, tuple(sorted(key.items()))


def row_id(change: RowChange) -> str:
    """The change's key as one word for messages."""
    return ",".join(str(value) for value in change.key.values())


def after_key(change: RowChange) -> Row:
    """The row's key columns as they are after the change (before it, for a delete)."""
    row = change.after if change.after is not None else change.key
    return {column: row[column] for column in change.key}


def same(left: Any, right: Any) -> bool:
    """Equal as SQLite stores values: 1 and 1.0 are one number, "1" and 1 are not."""
    numeric = (int, float)
    if isinstance(left, numeric) and isinstance(right, numeric):
        return left == right
    return type(left) is type(right) and bool(left == right)


def same_row(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or (
        left.keys() == right.keys() and all(same(value, right[column]) for column, value in left.items())
    )


def differences(change: RowChange, current: Row | None) -> list[Difference]:
    """How the stored row differs from the change's ``before``, column by column; empty = it may be written."""
    table, key = change.table, row_id(change)
    if change.before is None:
        return [] if current is None else [Difference(table, key, "", "a row with this id exists already")]
    if current is None:
        return [Difference(table, key, "", "the row is gone")]
    found = []
    for column in dict.fromkeys((*change.before, *current)):
        if column not in current:
            found.append(Difference(table, key, column, "the table has no such column"))
        elif column not in change.before:
            found.append(Difference(table, key, column, "the plan does not know this column"))
        elif not same(change.before[column], current[column]):
            found.append(Difference(table, key, column, "changed since the plan was made"))
    return found


def guarded(changes: Sequence[RowChange], stored: Callable[[str, Row], Row | None]) -> None:
    """Compare every row with its change's ``before``; ``stored`` gives the row of a table with these key columns.

    An id may be taken that another change leaves. Raises ``GuardRefused``.
    """
    leaving = {
        name_of(change.table, change.key)
        for change in changes
        if change.before is not None and (change.after is None or after_key(change) != change.key)
    }
    found = [
        difference
        for change in changes
        if change.before is not None or name_of(change.table, change.key) not in leaving
        for difference in differences(change, stored(change.table, change.key))
    ]
    if found:
        raise GuardRefused(found)


def reading_back(change: RowChange, row: Row | None) -> RowChange:
    """The change with ``after`` as a store of files reads it back.

    Raises ``GuardRefused`` where more than times, and the number of a place in a file, would differ.
    """
    if change.after is None:
        return change
    for column, value in change.after.items():
        found = None if row is None else row.get(column)
        if column == "data":
            value, found = str(value).strip(), str(found).strip()
        if column not in ("time_created", "time_updated", "seq") and not same(value, found):
            raise GuardRefused(
                [Difference(change.table, row_id(change), column, "the row cannot be stored as planned")]
            )
    return RowChange(change.table, change.key, change.before, row)


def netted(changes: Sequence[RowChange]) -> tuple[RowChange, ...]:
    """One change per row, in the order the rows were first named; rows that end as they began are left out.

    A later change of a row follows from the earlier one (its ``before`` is the earlier ``after``). Raises
    ``GuardRefused`` where it does not, and for tables that must not be written.
    """
    folded: list[RowChange | None] = []
    present: dict[RowName, int] = {}
    removed: dict[RowName, int] = {}
    for change in changes:
        _check(change)
        now = name_of(change.table, change.key)
        index = removed.pop(now, None) if change.before is None else present.get(now)
        earlier = None if index is None else folded[index]
        if (
            index is None
            or earlier is None
            or (change.before is not None and not same_row(earlier.after, change.before))
        ):
            # Where another row has taken this id meanwhile, the change is of the row that had it before.
            folded.append(change)
            index = len(folded) - 1
        else:
            present.pop(now, None)
            key = earlier.key if earlier.before is not None else after_key(change)
            folded[index] = RowChange(change.table, key, earlier.before, change.after)
        if change.after is not None:
            present[name_of(change.table, after_key(change))] = index
        elif (whole := folded[index]) is not None and whole.before is not None:
            removed[name_of(whole.table, whole.key)] = index
        else:
            folded[index] = None
    net = tuple(change for change in folded if change is not None and not same_row(change.before, change.after))
    _check_apart(net)
    return net


def _check_apart(net: Sequence[RowChange]) -> None:
    """No row is changed twice, and no two rows end with one id."""
    begins: set[RowName] = set()
    ends: set[RowName] = set()
    for change in net:
        begin, end = name_of(change.table, change.key), name_of(change.table, after_key(change))
        if change.before is not None and begin in begins:
            raise GuardRefused(
                [
                    Difference(
                        change.table,
                        row_id(change),
                        "",
                        "two changes of this row do not follow from each other",
                    )
                ]
            )
        if change.after is not None and end in ends:
            raise GuardRefused([Difference(change.table, row_id(change), "", "two rows would get this id")])
        begins |= {begin} if change.before is not None else set()
        ends |= {end} if change.after is not None else set()


def check_told(net: Sequence[RowChange]) -> None:
    """A V2 row comes together with the event that has its number: without it, upgrades of the client have stopped
    (docs/contract/rules.md#0.3, docs/contract/v2-server.md#adding). Raises ``GuardRefused``."""
    told = {(row["aggregate_id"], row["seq"]) for row in _coming(net, "event")}
    for row in _coming(net, "session_message"):
        if (row["session_id"], row.get("seq")) not in told:
            where = ("session_message", str(row["id"]), "")
            raise GuardRefused([Difference(*where, "a row of the V2 table comes with its event only")])


def _coming(net: Sequence[RowChange], table: str) -> list[Row]:
    return [one.after for one in net if one.table == table and one.before is None and one.after is not None]


def _check(change: RowChange) -> None:
    where = (change.table, row_id(change), "")
    if change.table not in WRITABLE_TABLES:
        raise GuardRefused([Difference(*where, "this table is never written")])
    if change.table == "event" and change.before is not None and change.after is not None:
        raise GuardRefused([Difference(*where, "an event is never rewritten")])
    if change.before is None and change.after is None:
        raise GuardRefused([Difference(*where, "a change with neither a before nor an after")])
