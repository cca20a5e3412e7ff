"""What the messages and parts of a window are called in their turn: "bash call 2"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.urls import reverse

from sessions_app.domain.places import message_called, near, numbered, part_called
from sessions_app.models import Part, Session
from sessions_app.selectors.timeline import PartRow, TurnBlock, Window

from .addresses import address


@dataclass(frozen=True, slots=True)
class Other:
    """Another part with the same call id. ``same``: it holds the same input and output."""

    words: str
    url: str
    compare_url: str
    same: bool


def window_names(session: Session, window: Window) -> dict[str, str]:
    """Stored id -> name, of the turns that a window shows."""
    names: dict[str, str] = {}
    for turn in window.turns:
        names.update(numbered(_called(session, turn)))
    return names


def _called(session: Session, turn: TurnBlock) -> Iterator[tuple[str, str]]:
    """Messages, then parts, of the whole turn, whatever of it is shown."""
    for head in turn.head.messages:
        yield head.stored_id, message_called(head.kind)
    if turn.continued or turn.cut:
        ids = [head.stored_id for head in turn.head.messages]
        found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        rows = Part.objects.filter(session=session, message_stored_id__in=ids).order_by("position")
        for owner, stored_id, kind, tool in rows.values_list("message_stored_id", "stored_id", "kind", "tool"):
            found[owner].append((stored_id, part_called(kind, tool)))
        for stored in ids:
            yield from found[stored]
        return
    for message in turn.messages:
        for row in message.parts:
            yield row.stored_id, part_called(row.kind, row.tool)


def twin_links(session: Session, row: PartRow, rows: Mapping[str, PartRow]) -> tuple[Other, ...]:
    """The others of a part's twins; ``rows`` are those of the window."""
    if row.twin is None:
        return ()
    places = {stored_id: place for fault in row.faults for stored_id, place in fault.names.items()}
    told = near(places, places.get(row.stored_id, ""))
    compare = reverse("sessions_app:compare", args=[session.pk])

    def link(other: str) -> Other:
        beside = rows.get(other)
        same = beside is not None and _content(row) == _content(beside)
        both = address({"part": row.stored_id, "other": other})
        return Other(told.get(other, "another call"), address({"at": other}, other), compare + both, same)

    return tuple(map(link, row.twin.others))


def _content(row: PartRow) -> tuple[object, ...]:
    state = (row.value or {}).get("state")
    held = state if isinstance(state, dict) else {}
    return row.tool, held.get("status"), held.get("input"), held.get("output"), held.get("error")
