"""The stored rows of a window of the timeline, as plain columns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from sessions_app.models import Message, Part, Session

from .outline import Head


class StoredMessage(NamedTuple):
    """Columns of a message; an object of the model for each of 20,000 rows would take half of the time."""

    pk: int
    table: str
    stored_id: str
    kind: str
    provider: str
    model: str
    time_created: int | None
    data: str
    encoding: str


class StoredPart(NamedTuple):
    """Columns of a part."""

    pk: int
    message_stored_id: str
    stored_id: str
    item: int | None
    kind: str
    tool: str
    call_id: str
    status: str
    size: int
    data: str
    encoding: str


@dataclass(slots=True)
class Contents:
    """The stored rows of a window."""

    messages: dict[int, StoredMessage] = field(default_factory=dict)
    parts: defaultdict[str, list[StoredPart]] = field(default_factory=lambda: defaultdict(list))


def load_rows(session: Session, heads: list[Head]) -> Contents:
    """The messages with these heads and their parts, in stored order."""
    found = Contents()
    for start in range(0, len(heads), 500):
        some = heads[start : start + 500]
        messages = Message.objects.filter(pk__in=[head.id for head in some])
        found.messages.update(
            (row[0], StoredMessage._make(row)) for row in messages.values_list(*StoredMessage._fields)
        )
        parts = Part.objects.filter(session=session, message_stored_id__in=[head.stored_id for head in some])
        for row in parts.order_by("position").values_list(*StoredPart._fields):
            found.parts[row[1]].append(StoredPart._make(row))
    return found
