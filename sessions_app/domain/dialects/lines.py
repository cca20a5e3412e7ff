"""What the dialects of clients that append lines to files share (Codex, Claude Code).

A line is a row of table ``line`` (``model.line_row``): its file, its number, and its text without the line end. Lines
keep the numbers they were read with while a repair is planned: what is deleted leaves a gap, what is inserted gets a
number between two others. The next reading counts anew, and so does the inverse of a repair (``repair.inverted``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sessions_app.domain import jsjson
from sessions_app.domain.model import LINE, Message, Part, Row, RowFault, SessionRows
from sessions_app.domain.repair import Edit, Operation, OperationError, RowChange

from .base import Dialect
from .rowedit import edited_data, row_change


class LineDialect(Dialect):
    """Lines of one or more files. Its session row is made from them, and never written.

    The id of a part is the id of the line it stands in, with ``#<place>`` behind it where a line holds several.
    """

    tables = (LINE,)
    filed = LINE

    def holds(self, rows: SessionRows) -> bool:
        """The made session row says whose lines they are."""
        return bool(rows.lines) and rows.session.get("dialect") == self.name

    def current(self, rows: SessionRows) -> bool:
        return self.holds(rows)

    def session_faults(self, rows: SessionRows) -> list[RowFault]:
        return []

    def compile(self, rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        before = {row["id"]: row for row in rows.lines}
        after: dict[str, Row | None] = {}
        for operation in operations:
            for line in self.lines_of(rows, operation):
                row = after.get(line, before.get(line))
                if row is None:
                    raise OperationError(f"line {line} is not stored")
                after[line] = None if operation.action == "delete" else self.edited(row, operation)
        return tuple(row_change(LINE, before[line], row) for line, row in after.items() if row != before[line])

    def lines_of(self, rows: SessionRows, operation: Operation) -> list[str]:
        """The ids of the lines that an operation is about. Raises ``OperationError``."""
        if operation.subject == "session" or operation.action == "insert":
            raise OperationError(f"{self.name} has no row for this: {operation.action} {operation.subject}")
        if operation.subject == "part":
            return [operation.part_id.partition("#")[0]]
        found = next((one for one in self.decode(rows).messages if one.id == operation.message_id), None)
        if found is None:
            raise OperationError(f"message {operation.message_id} is not stored")
        return list(dict.fromkeys(part.id.partition("#")[0] for part in found.parts))

    def edited(self, row: Row, operation: Operation) -> Row:
        """The line after the edits of an operation. Raises ``OperationError``."""
        return edited_data(row, [replace(edit, path=self.place(edit)) for edit in operation.edits])

    def place(self, edit: Edit) -> tuple[str | int, ...]:
        """Where in a line the place is that rules name in opencode-v1's words. Raises ``OperationError``."""
        return edit.path

    def ordered(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """By number, the files in the order in which they came."""
        found = list(rows)
        files = {name: place for place, name in enumerate(dict.fromkeys(row["file"] for row in found))}
        return sorted(found, key=lambda row: (files[row["file"]], row["line"]))

    def hash(self, rows: SessionRows) -> str:
        """Of the lines' bytes in their order; names of files and numbers do not count, since a copy has other names and
        numbers move with what is before."""
        digest = hashlib.sha256(f"{self.name}\x00{rows.id}".encode("utf-8", "surrogatepass"))
        files: dict[str, int] = {}
        for row in rows.lines:
            raw = str(row["data"]).encode("utf-8", "surrogateescape")
            place = files.setdefault(row["file"], len(files))
            digest.update(f"\x00{place}\x01{len(raw)}\x02".encode() + raw)
        return digest.hexdigest()

    def shown(self, message: Message) -> str:
        """In opencode-v1's words, which the screens read."""
        return jsjson.encode(message.data)

    def shown_part(self, part: Part) -> str:
        """In opencode-v1's words, which the screens read; a line that cannot be read as it is."""
        return part.raw if part.fault is not None else jsjson.encode(part.data)
