"""The rows of a session as they are stored, a window at a time, numbered as in its row document
(docs/contract/design.md#8)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from sessions_app.domain.dialects import named
from sessions_app.domain.rowcodec import decode_value
from sessions_app.models import Line, Message, Part, Session

MEMBERS: Mapping[str, str] = {
    Message.Table.MESSAGE: "messages",
    Message.Table.SESSION_MESSAGE: "session_message",
    Message.Table.LINE: "lines",
}
"""What the row document calls the rows of a table."""


@dataclass(frozen=True, slots=True)
class StoredHead:
    """A row of a message or line, without what it holds."""

    stored_id: str
    table: str
    position: int
    kind: str
    parts: tuple[str, ...]
    """Kinds of its part rows."""


class StoredRows:
    """The message rows (or lines) of a session in the order of its row document."""

    def __init__(self, session: Session) -> None:
        self._session = session
        kept: type[Line | Message] = Line if named(session.dialect).filed == Message.Table.LINE else Message
        rows: QuerySet[Line | Message] = kept._default_manager.filter(session=session)
        self._rows = rows.order_by("position") if kept is Line else rows.order_by("table", "position")
        if kept is Line:
            self._counts = Counter({str(Message.Table.LINE): rows.count()})
        else:
            self._counts = Counter(rows.order_by().values_list("table", flat=True))

    def __len__(self) -> int:
        return self._counts.total()

    def number(self, member: str, position: int) -> int | None:
        """The number of a row that the row document has at ``/member/position``."""
        before = 0
        for table in sorted(self._counts):
            if MEMBERS[table] == member:
                return before + position if position < self._counts[table] else None
            before += self._counts[table]
        return None

    def heads(self, start: int, count: int) -> list[StoredHead]:
        rows = list(self._rows[start : start + count])
        kinds: defaultdict[str, list[str]] = defaultdict(list)
        parts = self._parts().filter(message_stored_id__in=[row.stored_id for row in rows if row.table == "message"])
        for _, message, kind, tool in sorted(parts.values_list("position", "message_stored_id", "kind", "tool")):
            kinds[message].append(tool or kind or "unreadable")
        return [
            StoredHead(row.stored_id, row.table, row.position, row.kind, tuple(kinds[row.stored_id])) for row in rows
        ]

    def row(self, number: int) -> tuple[Message | Line, list[Part]]:
        """A row with its part rows."""
        for table in sorted(self._counts):
            if number < self._counts[table]:
                break
            number -= self._counts[table]
        tables = {} if table == Message.Table.LINE else {"table": table}
        row = self._rows.get(position=number, **tables)
        found = self._parts().filter(message_stored_id=row.stored_id) if row.table == "message" else ()
        return row, sorted(found, key=lambda part: part.position)

    def holding(self, words: list[str]) -> Iterator[int]:
        """Rows in whose text, or in that of whose parts, all of these may stand (ASCII, lower case)."""
        found: set[str] = set()
        for message, data, encoding in self._parts().values_list("message_stored_id", "data", "encoding").iterator():
            if message not in found and _holds(data, encoding, words):
                found.add(message)
        for number, row in enumerate(self._rows.iterator(chunk_size=500)):
            if (row.table == "message" and row.stored_id in found) or _holds(row.data, row.encoding, words):
                yield number

    def _parts(self) -> QuerySet[Part]:
        # In no order: for one SQLite would walk all parts of the session to find those of a message.
        return Part.objects.filter(session=self._session, item=None).order_by()


def _holds(data: str, encoding: str, words: list[str]) -> bool:
    text = str(decode_value(data, encoding)).lower()
    return all(word in text for word in words)
