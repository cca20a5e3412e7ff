"""The texts of a long session, in a file without a name
(docs/decisions/long-sessions-keep-their-texts-in-a-file.md)."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from sessions_app.domain.fartexts import HUGE, LONG, NEAR, ROW, Far, FarRow, Texts
from sessions_app.domain.model import Row


class Spool(Texts):
    """Gone when nobody holds it or a text in it any more, and after a crash."""

    def __init__(self) -> None:
        super().__init__()
        file = tempfile.TemporaryFile(prefix="suture-", buffering=0)  # noqa: SIM115  held as long as this
        weakref.finalize(self, file.close)
        self._file = file.fileno()
        self._end = 0

    def put(self, text: str) -> Far | None:
        raw = text.encode("utf-8", "surrogatepass")
        with suppress(OSError):
            if os.pwrite(self._file, raw, self._end) == len(raw):
                self._end += len(raw)
                return Far(self, self._end - len(raw), len(raw), len(text))
        return None

    def raw(self, far: Far) -> bytes:
        return os.pread(self._file, far.size, far.at)


def collected(columns: Sequence[str], found: Iterable[Sequence[Any]]) -> list[Row]:
    """Rows of one table with these columns. Where they take more than ``NEAR``, or one text is ``HUGE``, the long texts
    among them lie in a file, and equal values of other columns, ``id`` apart, are one object."""
    data = columns.index("data") if "data" in columns else None
    rows: list[Row] = []
    room = NEAR
    away: _Away | None = None
    for values in found:
        row = dict(zip(columns, values, strict=True))
        if away is not None:
            rows.append(away(row))
            continue
        rows.append(row)
        text = values[data] if data is not None else ""
        size = len(text) if isinstance(text, str) else 0
        room -= ROW + size
        if data is not None and (room < 0 or size > HUGE):
            away = _Away()
            rows = [away(one) for one in rows]
    return rows


class _Away:
    """Takes texts out of rows."""

    def __init__(self) -> None:
        self.same: dict[str, str] = {}
        self.spool: Spool | None = None
        with suppress(OSError):
            self.spool = Spool()

    def __call__(self, row: Row) -> Row:
        for column, value in row.items():
            if type(value) is str and column not in ("id", "data"):
                row[column] = self.same.setdefault(value, value)
        text = row["data"]
        if self.spool is None or not isinstance(text, str) or len(text) < LONG:
            return row
        far = self.spool.put(text)
        return row if far is None else FarRow({**row, "data": far})
