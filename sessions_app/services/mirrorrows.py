"""The first pass of an import: rows of new sessions go into the mirror as they lie in the store, many sessions in one
transaction, and are scanned later (docs/contract/design.md#4).

What the rows of a session say is told in ``mirror``; this is the short way to the same columns. Data stays the bytes
that it is in the file. Sessions are read before the transaction, so that the mirror is locked for writing alone; of one
that is too long to be held, the rest is read within.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import msgspec
import structlog
from django.db import OperationalError, transaction

from sessions_app.domain import jsjson, values
from sessions_app.domain import model as domain
from sessions_app.domain.collector import undisturbed
from sessions_app.domain.rowcodec import VERBATIM
from sessions_app.models import Message, Part, Session, SourceProblem
from sessions_app.services.reading import BUSY, stored_id
from sessions_app.stores.base import StoreError
from sessions_app.stores.sqlite.plainrows import (
    OddRows,
    PlainMessage,
    PlainSession,
    can_be_plain,
    check_ids,
    plain_parts,
    plain_session,
)
from sessions_app.stores.sqlite.store import SqliteStore

from .columns import sessions_update
from .counting import Counted, counted_as, counts_change
from .mirror import MESSAGE, PART, Columns, Known, message_facts, mirrored_fields, projects_write, rows_insert

log = structlog.get_logger(__name__)

PARTS, _BYTES = 20_000, 16_000_000
"""Parts, and bytes of them, that are in memory at once. What is in memory is one transaction, whatever was planned for
it: the mirror is locked as long as it lasts."""


class _State(msgspec.Struct):
    status: Any = None


class _Facts(msgspec.Struct):
    """What lists and search ask of a part; no object is made of anything else in it."""

    type: Any = None
    tool: Any = None
    callID: Any = None
    state: _State | None = None


_told = msgspec.json.Decoder(_Facts).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode

_PART = ("session_id", "position", *PART)
_ID, _OWNER, _LINK = (_PART.index(name) for name in ("stored_id", "message_stored_id", "message_id"))

type _Batch = tuple[list[list[Any]], int]
"""Parts by the columns of ``_PART``, and the bytes of their data."""


@dataclass(slots=True)
class Copied:
    """Sessions whose rows are in the mirror now, those that need ``reading.session_read``, and those that were not got
    to: with an odd one it ends, so that nobody looks at others twice."""

    copied: list[Session] = field(default_factory=list)
    odd: list[Session] = field(default_factory=list)
    left: list[Session] = field(default_factory=list)
    parts: int = 0


@dataclass(slots=True)
class _Read:
    """A session as columns of the mirror. ``first``: all its parts, but of a very long one; ``more`` gives the rest."""

    session: Session
    plain: PlainSession
    known: Known
    messages: list[Columns]
    first: _Batch
    more: Iterator[_Batch]


def rows_copy(*, sessions: Sequence[Session], store: SqliteStore, now: datetime) -> Copied:
    """Copy the rows of sessions that were never read, in their order, in one transaction.

    ``health`` stays "not-scanned" and ``rows_hash`` "". Raises ``StoreError`` where the store as a whole is busy;
    nothing is written then.
    """
    done = Copied()
    with store.snapshot(), store.projects_held():
        read = _read_ahead(sessions, store, done)
        if read:
            with transaction.atomic():
                _write_all(read, done, now)
    return done


@undisturbed
def _read_ahead(sessions: Sequence[Session], store: SqliteStore, done: Copied) -> list[_Read]:
    read: list[_Read] = []
    usual = can_be_plain(store)
    parts = size = 0
    for at, session in enumerate(sessions):
        if parts >= PARTS or size >= _BYTES:
            done.left = list(sessions[at:])
            break
        one = _tried(session, partial(_read, session, store)) if usual else None
        if one is None:
            done.odd, done.left = [session], list(sessions[at + 1 :])
            break
        read.append(one)
        parts += len(one.first[0])
        size += one.first[1]
    return read


def _tried[T](session: Session, action: Callable[[], T]) -> T | None:
    """What it gives; None where the session has to go the long way, which tells what is wrong with it."""
    try:
        return action()
    except OddRows:
        return None
    except StoreError as problem:
        if problem.kind in BUSY:
            raise
        return None
    except OperationalError:  # a locked database, or one that is away
        raise
    except Exception:
        log.exception("session could not be copied", session=session.stored_id)
        return None


def _read(session: Session, store: SqliteStore) -> _Read:
    wanted = stored_id(session)
    if wanted != session.stored_id:
        raise OddRows
    plain = plain_session(store, wanted)
    messages = [_message(row) for row in plain.messages]
    known = Known(domain.Session(wanted, plain.rows, {domain.V1: messages}))
    columns = [_message_columns(row, message) for row, message in zip(plain.messages, messages, strict=True)]
    more = _batches(session.pk, store, wanted)
    return _Read(session, plain, known, columns, next(more, ([], 0)), more)


def _message(row: PlainMessage) -> domain.Message:
    try:
        data = _object(row[3])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise OddRows from error
    kind = data.get("role")
    return domain.Message(row[0], "", kind if isinstance(kind, str) else "", data, "", {})


def _message_columns(row: PlainMessage, message: domain.Message) -> Columns:
    key, created, updated, data = row
    table = Message.Table.MESSAGE.value
    return table, key, created, updated, None, *message_facts(message), data, VERBATIM, ""


def _batches(key: int, store: SqliteStore, session_id: str) -> Iterator[_Batch]:
    rows: list[list[Any]] = []
    place = size = 0
    for message_id, part_id, created, updated, data, characters in plain_parts(store, session_id):
        kind, tool, call, status = _facts(data)
        usual = [key, place, message_id, part_id, None, None, created, updated]
        rows.append([*usual, kind, tool, call, status, characters, data, VERBATIM, ""])
        place, size = place + 1, size + len(data)
        if len(rows) >= PARTS or size >= _BYTES:
            yield _checked(rows, size)
            rows, size = [], 0
    yield _checked(rows, size)


def _checked(rows: list[list[Any]], size: int) -> _Batch:
    check_ids([row[_ID] for row in rows])
    return rows, size


def _facts(data: bytes) -> tuple[str, str, str, str]:
    """Kind, tool, call id and status, as ``dialects.opencode_v1`` tells them of a part."""
    try:
        part = _told(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # no JSON, or none of the client's
        return _odd_facts(data)
    if part.type != "tool":
        return _name(part.type), "", "", ""
    call = values.key(part.callID) if isinstance(part.callID, str) and part.callID else ""
    return "tool", _name(part.tool), call, _name(part.state.status if part.state else None)


def _name(value: Any) -> str:
    """The same few for nearly all."""
    return _known_name(value) if type(value) is str else ""


_known_name = lru_cache(1_000)(values.name)


def _odd_facts(data: bytes) -> tuple[str, str, str, str]:
    try:
        value = jsjson.loads(data)
    except ValueError:
        return "", "", "", ""
    kind = value.get("type") if isinstance(value, dict) else ""
    if not isinstance(value, dict) or kind != "tool":
        return values.name(kind), "", "", ""
    state, call_id = value.get("state"), value.get("callID")
    status = state.get("status") if isinstance(state, dict) else ""
    call = values.key(call_id) if isinstance(call_id, str) and call_id else ""
    return "tool", values.name(value.get("tool")), call, values.name(status)


def _write_all(read: Sequence[_Read], done: Copied, now: datetime) -> None:
    gone: list[Counted] = []
    came: list[Counted] = []
    fresh = set(_new([one.session.pk for one in read]))
    source = read[0].session.source
    projects_write(source=source, rows=read[0].plain.rows.projects)
    names: Mapping[str, Any] = {}
    for one in read:
        session = one.session
        before = counted_as(session)
        fields = _tried(session, partial(_write, one, now)) if session.pk in fresh else None
        if fields is None:
            done.odd.append(session)
            continue
        names = fields
        for name, value in fields.items():
            setattr(session, name, value)
        done.copied.append(session)
        done.parts += session.part_count
        gone += before
        came += counted_as(session)
    sessions_update(done.copied, [*names])
    told = SourceProblem.objects.filter(source=source)
    told.filter(session_id_stored__in=[session.stored_id for session in done.copied]).delete()
    counts_change(source_id=source.pk, gone=gone, came=came)


def _new(keys: Sequence[int]) -> Iterator[int]:
    waiting = Session.objects.filter(pk__in=keys, pending=True, imported_at=None)
    yield from waiting.select_for_update().order_by("pk").values_list("pk", flat=True)


def _write(one: _Read, now: datetime) -> dict[str, Any]:
    """Its rows; returns the fields of the session that follow."""
    key = one.session.pk
    with transaction.atomic():
        messages = [(key, position, *columns) for position, columns in enumerate(one.messages)]
        rows_insert(Message, ("session_id", "position", *MESSAGE), messages)
        stored = Message.objects.filter(session=key, table=Message.Table.MESSAGE).order_by("position")
        ids = (message[0] for message in one.plain.messages)
        links = dict(zip(ids, stored.values_list("pk", flat=True), strict=True))
        size, count = sum(len(message[3]) for message in one.plain.messages), 0
        for rows, characters in chain((one.first,), one.more):
            for row in rows:
                row[_LINK] = links.get(row[_OWNER])
            rows_insert(Part, _PART, rows)
            size, count = size + characters, count + len(rows)
        if count != one.plain.parts:  # orphans
            raise OddRows
    return mirrored_fields(one.plain.rows, one.known, len(messages), count, size, now)
