"""What a session weighs, of its mirror's columns: no text is read but those of calls that may hold files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet, Value
from django.db.models.functions import Length, StrIndex

from sessions_app.domain import weight as domain
from sessions_app.domain.places import message_called, numbered, part_called
from sessions_app.domain.weight import Named, Piece, Way, Weight
from sessions_app.kept import Kept
from sessions_app.models import Finding, Message, Part, Session

from .keeping import SessionKey, kept_of
from .outline import Head, Outline, session_outline

_KEPT_TURNS = 50_000
"""Turns of all weights that a process keeps."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A session's weight, its heaviest pieces by name, and what could be taken out."""

    weight: Weight
    heaviest: tuple[Named, ...]
    ways: tuple[Way, ...]

    def document(self) -> dict[str, Any]:
        """As commands and REST give it."""
        return domain.as_document(self.weight, self.heaviest, self.ways)


class _Row(NamedTuple):
    """A part's columns."""

    message: str
    stored_id: str
    kind: str
    tool: str
    size: int


_KEPT: Kept[SessionKey, Weighed] = Kept(_KEPT_TURNS, lambda weighed: len(weighed.weight.turns) or 1)


def session_weight(session: Session) -> Weighed:
    """The weight of the history that its client uses. Kept for the next page of the same session."""
    return kept_of(_KEPT, session, "weight", lambda: _weighed(session))


def _weighed(session: Session) -> Weighed:
    outline = session_outline(session)
    rows = _parts(session, outline.table)
    weight = domain.weigh(_pieces(session, outline, rows), session.part_count)
    findings = Finding.objects.filter(session=session, rule__in=domain.RULES).order_by("position", "id")
    opened = domain.ways(findings.values_list("rule", "key", "details"))
    return Weighed(weight, _named(weight, outline, rows), opened)


def _parts(session: Session, table: str) -> dict[str, list[_Row]]:
    """Columns of the session's parts by message, in stored order."""
    found: defaultdict[str, list[_Row]] = defaultdict(list)
    parts: QuerySet[Part, Any] = Part.objects.filter(session=session).order_by("position")
    if table == Message.Table.LINE:  # of which several may stand in one line, whose size each has
        columns = parts.values_list("message_stored_id", "stored_id", "kind", "tool", Length("data"))
    else:
        columns = parts.values_list("message_stored_id", "stored_id", "kind", "tool", "size")
    for row in map(_Row._make, columns.iterator(chunk_size=5000)):
        found[row.message].append(row)
    return found


def _pieces(session: Session, outline: Outline, rows: dict[str, list[_Row]]) -> Iterator[Piece]:
    yield from domain.of_session_row(session.stored_row)
    files, own = _files(session), _messages(session, outline.table)
    for part in _orphans(outline, rows):
        yield from _of(0, part, files)
    for turn in outline.turns:
        for head in turn.messages:
            parts = rows.get(head.stored_id, [])
            size, diffs, filed = own.get(head.stored_id, (0, False, False))
            if outline.table == Message.Table.SESSION_MESSAGE:  # its parts stand in it
                size = max(size - sum(part.size for part in parts), 0)
            yield domain.of_message(turn.number, head.stored_id, head.kind, size, diffs=diffs, files=filed)
            for part in parts:
                yield from _of(turn.number, part, files)


def _orphans(outline: Outline, rows: dict[str, list[_Row]]) -> list[_Row]:
    lost = set(outline.orphans)
    return [part for parts in rows.values() for part in parts if part.stored_id in lost] if lost else []


def _of(turn: int, part: _Row, files: dict[str, int]) -> Iterator[Piece]:
    return domain.of_part(turn, part.stored_id, part.kind, part.size, files.get(part.stored_id, -1))


def _messages(session: Session, table: str) -> dict[str, tuple[int, bool, bool]]:
    """Size of each message's own row, and whether it holds patches or files; of lines none, which are no rows."""
    if table == Message.Table.LINE:
        return {}
    marks = (StrIndex("data", Value(domain.DIFFS)), StrIndex("data", Value(domain.FILES)))
    found = Message.objects.filter(session=session, table=table).values_list(
        "stored_id", "kind", Length("data"), *marks
    )
    return {
        stored_id: (size, kind == "user" and diffs > 0, kind == "user" and files > 0)
        for stored_id, kind, size, diffs, files in found.iterator(chunk_size=5000)
    }


def _files(session: Session) -> dict[str, int]:
    """Where the files of a result begin in its stored JSON, by part; of calls large enough to look into."""
    large = Part.objects.filter(session=session, kind="tool", size__gte=domain.MARKED, item=None)
    found = large.values_list("stored_id", StrIndex("data", Value(domain.ATTACHED)))
    return {stored_id: place - 1 for stored_id, place in found if place}


def _named(weight: Weight, outline: Outline, rows: dict[str, list[_Row]]) -> tuple[Named, ...]:
    wanted = {piece.turn for piece in weight.heaviest}
    names = {part.stored_id: part_called(part.kind, part.tool) for part in _orphans(outline, rows)}
    for turn in outline.turns:
        if turn.number in wanted:
            for stored_id, name in numbered(_called(turn.messages, rows)):
                names[stored_id] = f"{name}, turn {turn.number}"
    return tuple(Named(piece, names.get(piece.at, domain.OWN_ROW)) for piece in weight.heaviest)


def _called(heads: Sequence[Head], rows: dict[str, list[_Row]]) -> Iterator[tuple[str, str]]:
    """Messages, then parts, of a turn: in the order in which names are numbered."""
    for head in heads:
        yield head.stored_id, message_called(head.kind)
    for head in heads:
        for part in rows.get(head.stored_id, ()):
            yield part.stored_id, part_called(part.kind, part.tool)
