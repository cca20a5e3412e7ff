"""The first pass of an import: rows of new sessions go into the mirror as they lie in the store, many sessions in one
transaction, and are scanned later (docs/contract/design.md#4).

What the rows of a session say is told in ``mirror``; this is the short way to the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog
from django.db import OperationalError, transaction

from sessions_app.domain import dialects, jsjson, values
from sessions_app.domain.rowcodec import VERBATIM
from sessions_app.models import Message, Part, Session, SourceProblem
from sessions_app.services.reading import BUSY, stored_id
from sessions_app.stores.base import StoreError
from sessions_app.stores.sqlite.plainrows import OddRows, can_be_plain, plain_parts, plain_session
from sessions_app.stores.sqlite.store import SqliteStore

from .columns import sessions_update
from .counting import Counted, counted_as, counts_change
from .mirror import MESSAGE, PART, Columns, Known, mirrored_fields, mirrored_messages, projects_write, rows_insert
from .mirror import text_size as size_of

log = structlog.get_logger(__name__)

PARTS = 20_000
"""Parts after which a transaction ends, whatever was planned for it: the mirror is locked as long as it lasts."""
_ROWS, _BYTES = 2_000, 16_000_000
"""Parts, and characters of them, that are in memory at once."""


class _State(msgspec.Struct):
    status: Any = None


class _Facts(msgspec.Struct):
    """What lists and search ask of a part; no object is made of anything else in it."""

    type: Any = None
    tool: Any = None
    callID: Any = None
    state: _State | None = None


_told = msgspec.json.Decoder(_Facts).decode
_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Copied:
    """Sessions whose rows are in the mirror now, those that need ``reading.session_read``, and those that were not got
    to."""

    copied: list[Session]
    odd: list[Session]
    left: list[Session]
    parts: int = 0


def rows_copy(*, sessions: Sequence[Session], store: SqliteStore, now: datetime) -> Copied:
    """Copy the rows of sessions that were never read, in their order, in one transaction.

    ``health`` stays "not-scanned" and ``rows_hash`` "". Raises ``StoreError`` where the store as a whole is busy;
    nothing is written then.
    """
    done = Copied([], [], [])
    gone: list[Counted] = []
    came: list[Counted] = []
    with transaction.atomic(), store.projects_held():
        keys = [session.pk for session in sessions]
        fresh = set(_new(keys)) if can_be_plain(store) else set()
        for at, session in enumerate(sessions):
            if done.parts >= PARTS:
                done.left = list(sessions[at:])
                break
            if session.pk not in fresh:
                done.odd.append(session)
                continue
            try:
                with transaction.atomic():
                    parts, before, after = _copy(session, store, now, projects=not done.copied)
                done.copied.append(session)
                done.parts += parts
                gone += before
                came += after
            except OddRows:
                done.odd.append(session)
            except StoreError as problem:
                if problem.kind in BUSY:
                    raise
                done.odd.append(session)
            except OperationalError:  # a locked database, or one that is away
                raise
            except Exception:  # the long way tells what is wrong with it, where it is the session
                log.exception("session could not be copied", session=session.stored_id)
                done.odd.append(session)
        if done.copied:
            source = done.copied[0].source
            told = SourceProblem.objects.filter(source=source)
            told.filter(session_id_stored__in=[session.stored_id for session in done.copied]).delete()
            counts_change(source_id=source.pk, gone=gone, came=came)
    return done


def _new(keys: Sequence[int]) -> Iterator[int]:
    waiting = Session.objects.filter(pk__in=keys, pending=True, imported_at=None)
    yield from waiting.select_for_update().order_by("pk").values_list("pk", flat=True)


def _copy(
    session: Session, store: SqliteStore, now: datetime, *, projects: bool
) -> tuple[int, frozenset[Counted], frozenset[Counted]]:
    """Returns how many parts it has, and what it counted as before and counts as now."""
    with store.snapshot():
        wanted = stored_id(session)
        if wanted != session.stored_id:
            raise OddRows
        plain = plain_session(store, wanted)
        if projects:
            projects_write(source=session.source, rows=plain.rows.projects)
        decoded = dialects.decode(plain.rows)
        known = Known(decoded)
        messages = [*mirrored_messages(session, plain.rows, known)]
        rows_insert(
            Message,
            ("session_id", "position", *MESSAGE),
            [(session.pk, position, *columns) for position, columns in enumerate(messages)],
        )
        links = dict(Message.objects.filter(session=session).order_by().values_list("stored_id", "pk"))
        size = sum(size_of(message[-3]) for message in messages)
        count = 0
        for batch, characters in _batches(session, store, plain.places, links):
            rows_insert(Part, ("session_id", "position", *PART), batch)
            count += len(batch)
            size += characters
    if count != len(plain.places):
        raise OddRows
    before = counted_as(session)
    fields = mirrored_fields(plain.rows, known, len(messages), count, size, now)
    for name, value in fields.items():
        setattr(session, name, value)
    sessions_update([session], [*fields])
    return count, before, counted_as(session)


def _batches(
    session: Session, store: SqliteStore, places: Mapping[tuple[str, str], int], links: Mapping[str, int]
) -> Iterator[tuple[list[Columns], int]]:
    """Rows of the mirror for its parts, and the bytes of their data."""
    rows: list[Columns] = []
    size, key = 0, session.pk
    for part_id, message_id, _, created, updated, data in plain_parts(store, session.stored_id):
        place = places.get((message_id, part_id))
        if place is None:
            raise OddRows
        size += size_of(data)
        link = links.get(message_id)
        facts = _facts(data)
        kept = (message_id, part_id, link, None, created, updated, *facts, len(data), data, VERBATIM, "")
        rows.append((key, place, *kept))
        if len(rows) >= _ROWS or size > _BYTES:
            yield rows, size
            rows, size = [], 0
    yield rows, size


def _facts(data: str) -> tuple[str, str, str, str]:
    """Kind, tool, call id and status, as ``dialects.opencode_v1`` tells them of a part."""
    try:
        part = _told(data)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):  # no JSON, or none of the client's
        return _odd_facts(data)
    if part.type != "tool":
        return values.name(part.type), "", "", ""
    call = values.key(part.callID) if isinstance(part.callID, str) and part.callID else ""
    return "tool", values.name(part.tool), call, values.name(part.state.status if part.state else None)


def _odd_facts(data: str) -> tuple[str, str, str, str]:
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        try:
            value = jsjson.loads(data)
        except ValueError:
            return "", "", "", ""
    kind = value.get("type") if isinstance(value, dict) else ""
    if kind != "tool":
        return values.name(kind), "", "", ""
    state, call_id = value.get("state"), value.get("callID")
    status = state.get("status") if isinstance(state, dict) else ""
    call = values.key(call_id) if isinstance(call_id, str) and call_id else ""
    return "tool", values.name(value.get("tool")), call, values.name(status)
