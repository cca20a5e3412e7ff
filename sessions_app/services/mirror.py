"""Writing a session's rows to the mirror: verbatim rows, derived columns beside them, only what differs.

One session at a time is in memory. Positions, ids and derived columns serve lists and search; ``selectors/rows`` gives
back exactly what came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Model

from sessions_app.domain import dialects, knownmodels, values
from sessions_app.domain import model as domain
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.rowcodec import VERBATIM, encode_value, row_text
from sessions_app.models import Line, Message, Part, Project, Session, Source
from sessions_app.selectors.rows import message_columns, part_columns, session_message_columns

from .counting import counted_as, counts_change, session_locked

_BATCH = 2000
_SHORT, _INDEXED = 400, 2_000
"""Characters of a line, and bytes of all lines, that a session is searched by."""

MESSAGE = (
    *(
        "table",
        "stored_id",
        "time_created",
        "time_updated",
        "seq",
        "kind",
        "provider",
        "model",
        "error",
        "finish",
    ),
    *("data", "encoding", "columns"),
)
PART = (
    *("message_stored_id", "stored_id", "message_id", "item", "time_created", "time_updated"),
    *("kind", "tool", "call_id", "status", "size", "data", "encoding", "columns"),
)
_LINE = ("file", "number", "data", "encoding")
"""Columns of the tables in the order of the tuples below; the first two are the key of a row within its session."""

type Columns = tuple[Any, ...]


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
        "row": row_text(row),
        "title": title,
        "project_id_stored": values.name(row.get("project_id")),
        "directory": directory,
        "path": values.shown(row.get("path")),
        "version": values.name(row.get("version")),
        "parent_stored_id": values.key(row["parent_id"]) if row.get("parent_id") else "",
        "time_created": values.whole(row.get("time_created")),
        "time_updated": values.whole(row.get("time_updated")),
        "time_archived": values.whole(row.get("time_archived")),
        "search": searched(title, directory, stored_id, values.name(row.get("slug"))),
    }


def searched(title: str, directory: str, *ids: str) -> str:
    """``Session.search``, which must fit into an index: PostgreSQL takes 2,700 bytes of one row, with other columns."""
    lines = (" ".join(text.split())[:_SHORT] for text in (title, directory, " ".join(ids)))
    return "\n".join(lines).lower().encode()[:_INDEXED].decode(errors="ignore")


def projects_write(*, source: Source, rows: Iterable[Row]) -> None:
    """Project rows of a source: new ones made, changed ones replaced."""
    known = dict(Project.objects.filter(source=source).order_by().values_list("stored_id", "row"))
    texts = {values.key(row.get("id")): (row_text(row), values.shown(row.get("worktree"))) for row in rows}
    Project.objects.bulk_create(
        [
            Project(source=source, stored_id=stored_id, row=text, worktree=worktree)
            for stored_id, (text, worktree) in texts.items()
            if known.get(stored_id) != text
        ],
        update_conflicts=True,  # another worker may be at it
        unique_fields=("source", "stored_id"),
        update_fields=("row", "worktree"),
    )


def session_write(
    *, session: Session, rows: SessionRows, decoded: domain.Session | None, rows_hash: str, now: datetime
) -> MirrorChange:
    """Make the mirror of ``session`` equal to ``rows`` in one transaction.

    ``decoded`` gives the derived columns; None (rows no dialect could decode) leaves them empty. The session object is
    updated too.
    """
    change = MirrorChange()
    known = Known(decoded)
    messages = [*mirrored_messages(session, rows, known)]
    with transaction.atomic():
        # Two readers of one session take turns (PostgreSQL).
        stored = session_locked(session)
        _sync(Message, session, messages, MESSAGE, change)
        found = Message.objects.filter(session=session).order_by().values_list("table", "stored_id", "pk")
        parts = [*_parts(session, rows, known, {(table, stored_id): key for table, stored_id, key in found})]
        _sync(Part, session, parts, PART, change)
        size = sum(text_size(message[-3]) for message in messages) + sum(text_size(part[-3]) for part in parts)
        fields = mirrored_fields(rows, known, len(messages), len(parts), size, now) | {
            "indexed": stored.indexed and stored.rows_hash == rows_hash,
            "rows_hash": rows_hash,
        }
        if rows.lines or (session.dialect and dialects.named(session.dialect).filed == Message.Table.LINE):
            lines = [(row["file"], row["line"], *encode_value(row["data"])) for row in rows.lines]
            _sync(Line, session, lines, _LINE, change)
            fields["size_bytes"] = sum(text_size(line[-2]) for line in lines)
        before = counted_as(stored)
        for name, value in fields.items():
            setattr(stored, name, value)
            setattr(session, name, value)
        session.save(update_fields=fields)
        counts_change(source_id=session.source_id, gone=before, came=counted_as(stored))
    change.parts = len(parts)
    return change


def mirrored_fields(
    rows: SessionRows, known: Known, messages: int, parts: int, size: int, now: datetime
) -> dict[str, Any]:
    """Columns of a session whose rows were mirrored: so many messages and parts, with ``size`` bytes of data."""
    fields = session_fields(rows.session) | {
        "epoch": row_text(rows.epoch) if rows.epoch is not None else "",
        "inputs": [row_text(row) for row in rows.inputs],
        "sequence": row_text(rows.sequence) if rows.sequence is not None else "",
        "last_event": rows.last_event,
        "message_count": messages,
        "part_count": parts,
        "turn_count": known.turns,
        "size_bytes": size,
        "provider": known.last_model[0],
        "model": known.last_model[1],
        "known_models": knownmodels.document(rows.models, known.used),
        "imported_at": now,
        "pending": False,
        "missing_since": None,
        "error": "",
    }
    return fields if known.decoded is None else fields | {"dialect": known.decoded.dialect}


@dataclass(slots=True)
class Known:
    """Decoded messages and parts by the row they came from."""

    decoded: domain.Session | None
    messages: dict[int, domain.Message] = field(default_factory=dict)
    parts: dict[int, domain.Part] = field(default_factory=dict)
    turns: int = 0
    last_model: tuple[str, str] = ("", "")
    used: dict[tuple[str, str], None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.decoded is None:
            return
        for message in self.decoded.every_message():
            self.messages[id(message.row)] = message
            for part in message.parts:
                if part.row is not None:
                    self.parts[id(part.row)] = part
        for part in self.decoded.orphans:
            self.parts[id(part.row)] = part
        self.turns = sum(message.is_user for message in self.decoded.messages)
        last: dict[str, tuple[str, str]] = {}
        for message in self.decoded.messages:
            if model := message.model:
                last[message.kind] = named = message.provider, model
                self.used[named] = None
        provider, model = last.get("user") or last.get("assistant") or ("", "")
        self.last_model = values.name(provider), values.name(model)

    def filed(self, table: str) -> Iterator[tuple[dialects.Dialect, domain.Message]]:
        """Messages of the histories that are filed under a table, each with its dialect."""
        for name, messages in self.decoded.histories.items() if self.decoded is not None else ():
            if (dialect := dialects.named(name)).filed == table:
                yield from ((dialect, message) for message in messages)


def mirrored_messages(session: Session, rows: SessionRows, known: Known) -> Iterator[Columns]:
    seen: set[Any] = set()
    for row in rows.messages:
        stored_id = _unique(values.key(row.get("id")), seen)
        created, updated = values.whole(row.get("time_created")), values.whole(row.get("time_updated"))
        kept = _kept(row, message_columns(stored_id, session.stored_id, created, updated))
        kind, *more = message_facts(known.messages.get(id(row)))
        yield (Message.Table.MESSAGE.value, stored_id, created, updated, None, kind, *more, *kept)
    seen = set()
    for row in rows.session_message:
        stored_id = _unique(values.key(row.get("id")), seen)
        created, updated = values.whole(row.get("time_created")), values.whole(row.get("time_updated"))
        seq, kind = values.whole(row.get("seq")), values.name(row.get("type"))
        kept = _kept(row, session_message_columns(stored_id, session.stored_id, kind, created, updated, seq))
        _, *more = message_facts(known.messages.get(id(row)))
        yield (Message.Table.SESSION_MESSAGE.value, stored_id, created, updated, seq, kind, *more, *kept)
    seen = set()
    for dialect, message in known.filed(Message.Table.LINE):
        stored_id, created = _unique(values.key(message.id), seen), values.whole(message.time_created)
        shown = (*encode_value(dialect.shown(message)), "")
        yield (Message.Table.LINE.value, stored_id, created, None, None, *message_facts(message), *shown)


def message_facts(decoded: domain.Message | None) -> tuple[str, str, str, str, str]:
    """Kind, provider, model, error and finish."""
    if decoded is None:
        return "", "", "", "", ""
    error = decoded.error
    named = "" if error is None else values.name(error.get("name") or error.get("type")) or "error"
    provider, model = values.name(decoded.provider), values.name(decoded.model)
    return values.name(decoded.kind), provider, model, named, values.name(decoded.data.get("finish"))


def _parts(
    session: Session, rows: SessionRows, known: Known, messages: dict[tuple[str, str], int]
) -> Iterator[Columns]:
    place = {row.get("id"): index for index, row in enumerate(rows.messages)}
    seen: set[Any] = set()
    for row in sorted(rows.parts, key=lambda row: place.get(row.get("message_id"), len(place))):
        message_id = values.key(row.get("message_id"))
        stored_id = _unique(values.key(row.get("id")), seen, message_id)
        created, updated = values.whole(row.get("time_created")), values.whole(row.get("time_updated"))
        kept = _kept(row, part_columns(stored_id, message_id, session.stored_id, created, updated))
        link = messages.get((Message.Table.MESSAGE.value, message_id))
        facts = _part_facts(known.parts.get(id(row)))
        yield (message_id, stored_id, link, None, created, updated, *facts, len(kept[0]), *kept)
    for _, message in known.filed(Message.Table.SESSION_MESSAGE):
        message_id = values.key(message.id)
        link = messages.get((Message.Table.SESSION_MESSAGE.value, message_id))
        for item in message.parts:
            stored_id = _unique(values.key(item.id), seen, message_id)
            created = values.whole(message.time_created)
            facts = _part_facts(item)
            yield (
                message_id,
                stored_id,
                link,
                item.index,
                created,
                None,
                *facts,
                item.size,
                "",
                VERBATIM,
                "",
            )
    for dialect, message in known.filed(Message.Table.LINE):
        message_id = values.key(message.id)
        link, created = messages.get((Message.Table.LINE.value, message_id)), values.whole(message.time_created)
        for part in message.parts:
            stored_id = _unique(values.key(part.id), seen, message_id)
            shown = (*encode_value(dialect.shown_part(part)), "")
            yield (message_id, stored_id, link, None, created, None, *_part_facts(part), part.size, *shown)


def _part_facts(decoded: domain.Part | None) -> tuple[str, str, str, str]:
    """Kind, tool, call id and status."""
    if decoded is None:
        return "", "", "", ""
    if not isinstance(decoded, domain.ToolPart):
        return values.name(decoded.kind), "", "", ""
    call_id = values.key(decoded.call_id) if decoded.call_id else ""
    return values.name(decoded.kind), values.name(decoded.tool), call_id, values.name(decoded.status)


def _kept(row: Row, usual: Row) -> tuple[str, str, str]:
    """``(data, encoding, columns)``: columns only where the row is not exactly the usual one with its data last."""
    if "data" in row:
        data, encoding = encode_value(row["data"])
    else:
        data, encoding = "", VERBATIM
    if len(row) == len(usual) + 1 and next(reversed(row)) == "data":
        same = zip(row.items(), usual.items(), strict=False)
        if all(ours == theirs and type(ours[1]) is type(theirs[1]) for ours, theirs in same):
            return data, encoding, ""
    return (
        data,
        encoding,
        row_text({name: None if name == "data" else value for name, value in row.items()}),
    )


def _unique(stored_id: str, seen: set[Any], message_id: str = "") -> str:
    """The id, or one with a number where a broken store holds it twice (the verbatim row keeps the real one)."""
    candidate, number = stored_id, 1
    while (message_id, candidate) in seen:
        number += 1
        candidate = f"{stored_id[:240]}~{number}"
    seen.add((message_id, candidate))
    return candidate


def _sync(
    model: type[Model], session: Session, wanted: list[Columns], names: tuple[str, ...], change: MirrorChange
) -> None:
    """Make the stored rows equal to ``wanted``, whose places are their positions."""
    found = model._default_manager.filter(session=session).order_by().values_list("pk", "position", *names)
    stored: dict[Any, tuple[Any, ...]] = {row[2:4]: row for row in found.iterator(chunk_size=_BATCH)}
    fresh: list[Columns] = []
    altered: list[Model] = []
    moved: dict[int, list[int]] = {}
    for position, columns in enumerate(wanted):
        old = stored.pop(columns[:2], None)
        if old is None:
            fresh.append((session.pk, position, *columns))
            continue
        if position != old[1]:
            moved.setdefault(position - old[1], []).append(old[0])
        if columns != old[2:]:
            altered.append(model(pk=old[0], **dict(zip(names, columns, strict=True))))
    _delete(model, [old[0] for old in stored.values()])
    _move(model, moved)
    if altered:
        model._default_manager.bulk_update(altered, names, batch_size=200)
    rows_insert(model, ("session_id", "position", *names), fresh)
    change.removed += len(stored)
    change.changed += len(altered)
    change.created += len(fresh)


def rows_insert(model: type[Model], names: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
    """Plain rows: building a model object for each of a million parts takes most of an import's time. ``data`` may be
    the bytes of its text."""
    if not rows:
        return
    quote = connection.ops.quote_name
    columns = ", ".join(quote(name) for name in names)
    into = f"{quote(model._meta.db_table)} ({columns})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([value.decode() if type(value) is bytes else value for value in row])
            return
        marks = ", ".join("CAST(%s AS TEXT)" if name == "data" else "%s" for name in names)
        cursor.executemany(f"INSERT INTO {into} VALUES ({marks})", rows)


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


def text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
