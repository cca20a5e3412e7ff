"""Writing a session's rows to the mirror: verbatim rows, derived columns beside them, only what differs.

One session at a time is in memory. Positions, ids and derived columns serve lists and search; ``selectors/rows`` gives back exactly
what came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Model

from sessions_app.domain import model as domain
from sessions_app.domain.model import Row, SessionRows
from sessions_app.models import Message, Part, Project, Session, Source, values
from sessions_app.selectors.rows import message_columns, part_columns, session_message_columns

_BATCH = 2000
_MESSAGE_FIELDS = [
    "table",
    "stored_id",
    "time_created",
    "time_updated",
    "seq",
    "data",
    "encoding",
    "columns",
    "kind",
    "provider",
    "model",
    "error",
    "finish",
]
_PART_FIELDS = [
    "message_stored_id",
    "stored_id",
    "item",
    "time_created",
    "time_updated",
    "data",
    "encoding",
    "columns",
    "kind",
    "tool",
    "call_id",
    "status",
    "size",
]


@dataclass(slots=True)
class MirrorChange:
    """What a write changed: rows made, changed and removed."""

    created: int = 0
    changed: int = 0
    removed: int = 0
    parts: int = 0
    """Parts the session has now."""

    @property
    def any(self) -> bool:
        return bool(self.created or self.changed or self.removed)


def session_fields(row: Row) -> dict[str, Any]:
    """Derived columns of a session row."""
    title, directory = values.shown(row.get("title")), values.shown(row.get("directory"))
    stored_id = values.key(row.get("id"))
    return {
        "row": values.row_text(row),
        "title": title,
        "project_id_stored": values.name(row.get("project_id")),
        "directory": directory,
        "path": values.shown(row.get("path")),
        "version": values.name(row.get("version")),
        "parent_stored_id": values.key(row["parent_id"]) if row.get("parent_id") else "",
        "time_created": values.whole(row.get("time_created")),
        "time_updated": values.whole(row.get("time_updated")),
        "time_archived": values.whole(row.get("time_archived")),
        "search": "\n".join((title, directory, stored_id, values.name(row.get("slug")))).lower(),
    }


def projects_write(*, source: Source, rows: Iterable[Row]) -> None:
    """Project rows of a source: new ones made, changed ones replaced."""
    known = {project.stored_id: project for project in Project.objects.filter(source=source)}
    for row in rows:
        stored_id, text = values.key(row.get("id")), values.row_text(row)
        worktree = values.shown(row.get("worktree"))
        project = known.get(stored_id)
        if project is None:
            known[stored_id] = Project.objects.create(
                source=source, stored_id=stored_id, row=text, worktree=worktree
            )
        elif project.row != text:
            project.row, project.worktree = text, worktree
            project.save(update_fields=("row", "worktree"))


def session_write(
    *, session: Session, rows: SessionRows, decoded: domain.Session | None, rows_hash: str, now: datetime
) -> MirrorChange:
    """Make the mirror of ``session`` equal to ``rows`` in one transaction.

    ``decoded`` gives the derived columns; None (rows no dialect could decode) leaves them empty. The session object is updated too.
    """
    change = MirrorChange()
    known = _Known(decoded)
    messages = [*_messages(session, rows, known)]
    parts = [*_parts(session, rows, known)]
    with transaction.atomic():
        Session.objects.select_for_update().get(
            pk=session.pk
        )  # two readers of one session take turns (PostgreSQL)
        by_id = _sync(Message, session, messages, _MESSAGE_FIELDS, ("table", "stored_id"), change)
        for part in parts:
            part.message = by_id.get(
                ("session_message" if part.item is not None else "message", part.message_stored_id)
            )
        _sync(Part, session, parts, _PART_FIELDS, ("message_stored_id", "stored_id"), change)
        for name, value in session_fields(rows.session).items():
            setattr(session, name, value)
        session.epoch = values.row_text(rows.epoch) if rows.epoch is not None else ""
        session.message_count, session.part_count = len(messages), len(parts)
        session.turn_count = known.turns
        session.size_bytes = sum(_size(message.data) for message in messages) + sum(
            _size(part.data) for part in parts
        )
        if decoded is not None:
            session.dialect = decoded.dialect
        session.provider, session.model = known.last_model
        session.rows_hash = rows_hash
        session.imported_at, session.pending, session.missing_since, session.error = now, False, None, ""
        session.save()
    change.parts = len(parts)
    return change


@dataclass(slots=True)
class _Known:
    """Decoded messages and parts by the row they came from."""

    decoded: domain.Session | None
    messages: dict[int, domain.Message] = field(default_factory=dict)
    parts: dict[int, domain.Part] = field(default_factory=dict)
    turns: int = 0
    last_model: tuple[str, str] = ("", "")

    def __post_init__(self) -> None:
        if self.decoded is None:
            return
        for message in (*self.decoded.v1, *self.decoded.v2):
            self.messages[id(message.row)] = message
            for part in message.parts:
                if part.row is not None:
                    self.parts[id(part.row)] = part
        for part in self.decoded.orphans:
            self.parts[id(part.row)] = part
        self.turns = sum(message.is_user for message in self.decoded.messages)
        used = [m for m in self.decoded.messages if m.model and (m.is_user or m.is_assistant)]
        last = next((m for m in reversed(used) if m.is_user), used[-1] if used else None)
        if last is not None:
            self.last_model = values.name(last.provider), values.name(last.model)


def _messages(session: Session, rows: SessionRows, known: _Known) -> Iterator[Message]:
    seen: set[str] = set()
    for position, row in enumerate(rows.messages):
        stored_id = _unique(values.key(row.get("id")), seen)
        created, updated = values.whole(row.get("time_created")), values.whole(row.get("time_updated"))
        usual = message_columns(stored_id, session.stored_id, created, updated)
        yield _message(session, Message.Table.MESSAGE, row, usual, position, known)
    seen = set()
    for position, row in enumerate(rows.session_message):
        stored_id = _unique(values.key(row.get("id")), seen)
        created, updated = values.whole(row.get("time_created")), values.whole(row.get("time_updated"))
        seq, kind = values.whole(row.get("seq")), values.name(row.get("type"))
        usual = session_message_columns(stored_id, session.stored_id, kind, created, updated, seq)
        message = _message(session, Message.Table.SESSION_MESSAGE, row, usual, position, known)
        message.seq, message.kind = seq, kind
        yield message


def _message(
    session: Session, table: Message.Table, row: Row, usual: Row, position: int, known: _Known
) -> Message:
    data, encoding, columns = _kept(row, usual)
    message = Message(
        session=session,
        table=table,
        position=position,
        stored_id=usual["id"],
        time_created=usual["time_created"],
        time_updated=usual["time_updated"],
        data=data,
        encoding=encoding,
        columns=columns,
    )
    decoded = known.messages.get(id(row))
    if decoded is not None:
        message.kind = values.name(decoded.kind)
        message.provider, message.model = values.name(decoded.provider), values.name(decoded.model)
        error = decoded.error
        if error is not None:
            message.error = values.name(error.get("name") or error.get("type")) or "error"
        message.finish = values.name(decoded.data.get("finish"))
    return message


def _parts(session: Session, rows: SessionRows, known: _Known) -> Iterator[Part]:
    place = {values.key(row.get("id")): index for index, row in enumerate(rows.messages)}
    ordered = sorted(rows.parts, key=lambda row: place.get(values.key(row.get("message_id")), len(place)))
    seen: set[tuple[str, str]] = set()
    position = 0
    for row in ordered:
        message_id = values.key(row.get("message_id"))
        stored_id = _unique_in(message_id, values.key(row.get("id")), seen)
        created, updated = values.whole(row.get("time_created")), values.whole(row.get("time_updated"))
        usual = part_columns(stored_id, message_id, session.stored_id, created, updated)
        data, encoding, columns = _kept(row, usual)
        part = Part(
            session=session,
            position=position,
            stored_id=stored_id,
            message_stored_id=message_id,
            time_created=created,
            time_updated=updated,
            data=data,
            encoding=encoding,
            columns=columns,
        )
        yield _derived(part, known.parts.get(id(row)), len(data))
        position += 1
    for message in known.decoded.v2 if known.decoded is not None else ():
        for item in message.parts:
            part = Part(
                session=session,
                position=position,
                stored_id=_unique_in(values.key(message.id), values.key(item.id), seen),
                message_stored_id=values.key(message.id),
                item=item.index,
                time_created=values.whole(message.time_created),
            )
            yield _derived(part, item, item.size)
            position += 1


def _derived(part: Part, decoded: domain.Part | None, size: int) -> Part:
    part.size = size
    if decoded is not None:
        part.kind = values.name(decoded.kind)
        if isinstance(decoded, domain.ToolPart):
            part.tool, part.status = values.name(decoded.tool), values.name(decoded.status)
            part.call_id = values.key(decoded.call_id) if decoded.call_id else ""
    return part


def _kept(row: Row, usual: Row) -> tuple[str, str, str]:
    """``(data, encoding, columns)``: columns only where the row is not exactly the usual one with its data last."""
    if "data" in row:
        data, encoding = values.encode_value(row["data"])
    else:
        data, encoding = "", values.VERBATIM
    if len(row) == len(usual) + 1 and next(reversed(row)) == "data":
        same = zip(row.items(), usual.items(), strict=False)
        if all(ours == theirs and type(ours[1]) is type(theirs[1]) for ours, theirs in same):
            return data, encoding, ""
    return (
        data,
        encoding,
        values.row_text({name: None if name == "data" else value for name, value in row.items()}),
    )


def _unique(stored_id: str, seen: set[str]) -> str:
    """The id, or one with a number where a broken store holds it twice (the verbatim row keeps the real one)."""
    candidate, number = stored_id, 1
    while candidate in seen:
        number += 1
        candidate = f"{stored_id[:240]}~{number}"
    seen.add(candidate)
    return candidate


def _unique_in(message_id: str, stored_id: str, seen: set[tuple[str, str]]) -> str:
    candidate, number = stored_id, 1
    while (message_id, candidate) in seen:
        number += 1
        candidate = f"{stored_id[:240]}~{number}"
    seen.add((message_id, candidate))
    return candidate


def _sync[M: (Message, Part)](
    model: type[M],
    session: Session,
    wanted: list[M],
    names: list[str],
    key: tuple[str, str],
    change: MirrorChange,
) -> dict[tuple[str, str], M]:
    """Make the stored objects equal to ``wanted`` by their keys; gives the wanted objects, with primary keys, by key."""
    columns = ("pk", "position", *key, *names)
    found = model.objects.filter(session=session).values_list(*columns).iterator(chunk_size=_BATCH)
    stored: dict[tuple[str, str], tuple[Any, ...]] = {(row[2], row[3]): row for row in found}
    fresh: list[M] = []
    altered: list[M] = []
    moved: dict[int, list[int]] = {}
    result: dict[tuple[str, str], M] = {}
    for item in wanted:
        item_key = (getattr(item, key[0]), getattr(item, key[1]))
        result[item_key] = item
        old = stored.pop(item_key, None)
        if old is None:
            fresh.append(item)
            continue
        item.pk = old[0]
        if item.position != old[1]:
            moved.setdefault(item.position - old[1], []).append(old[0])
        if any(getattr(item, name) != value for name, value in zip(names, old[4:], strict=True)):
            altered.append(item)
    _delete(model, [old[0] for old in stored.values()])
    _move(model, moved)
    if altered:
        model.objects.bulk_update(altered, names, batch_size=200)
    model.objects.bulk_create(fresh, batch_size=_BATCH)
    change.removed += len(stored)
    change.changed += len(altered)
    change.created += len(fresh)
    return result


def _delete(model: type[Model], keys: list[int]) -> None:
    for batch in _batches(keys):
        model._default_manager.filter(pk__in=batch).delete()


def _move(model: type[Model], moved: dict[int, list[int]]) -> None:
    for distance, keys in moved.items():
        for batch in _batches(keys):
            model._default_manager.filter(pk__in=batch).update(position=F("position") + distance)


def _batches(keys: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
