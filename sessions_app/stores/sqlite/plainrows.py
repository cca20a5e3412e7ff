"""Sessions whose rows can be copied as they are, which nearly all can: read without making a row of each part, and
their JSON as the bytes it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.model import SessionRows

from .connection import explained, time_limit
from .store import SqliteStore

MESSAGE = ("id", "session_id", "time_created", "time_updated", "data")
PART = ("id", "message_id", "session_id", "time_created", "time_updated", "data")
_LONGEST = 255
_TEXT = "CASE typeof({0}.data) WHEN 'text' THEN CAST({0}.data AS BLOB) END"
_MESSAGES = f"""SELECT id, time_created, time_updated, {_TEXT.format("message")} FROM message WHERE session_id = ?
ORDER BY time_created, id COLLATE BINARY"""
_COUNT = "SELECT count(*) FROM part WHERE session_id = ?"
_PARTS = f"""SELECT part.message_id, part.id, part.time_created, part.time_updated, {_TEXT.format("part")},
part.session_id IS ?1 FROM message CROSS JOIN part ON part.message_id = message.id WHERE message.session_id = ?1
ORDER BY message.time_created, message.id COLLATE BINARY, part.id COLLATE BINARY"""
"""By the message first: the client's indexes give this order, and no text has to be sorted."""

type PlainMessage = tuple[str, int, int, bytes]
"""Id, times and data."""
type PlainPart = tuple[str, str, int, int, bytes, int]
"""Ids of message and part, times, data, and how many characters that is."""


class OddRows(Exception):
    """Something in a session is not as the client writes it; what has been given of it so far is not to be used."""


@dataclass(frozen=True, slots=True)
class PlainSession:
    """``rows`` holds all but messages, parts and siblings. ``messages`` are in order; ``parts`` is how many there
    are."""

    rows: SessionRows
    messages: list[PlainMessage]
    parts: int


def can_be_plain(store: SqliteStore) -> bool:
    """The tables have the client's columns and no others, and text is UTF-8."""
    tables = store.schema.tables
    usual = all(
        name in tables and tables[name].columns == columns and not tables[name].generated
        for name, columns in (("message", MESSAGE), ("part", PART))
    )
    return usual and store.query("PRAGMA encoding") == [("UTF-8",)]


def plain_session(store: SqliteStore, session_id: str) -> PlainSession:
    """A session of opencode-v1 with usual rows only. Raises ``OddRows`` for others, and ``StoreError``."""
    seen = len(store.problems)
    rows = store.beside_messages(session_id)
    if rows.session_message or rows.epoch is not None or rows.inputs or len(store.problems) > seen:
        raise OddRows
    messages = [*_read(store, _MESSAGES, session_id)]
    check_ids([message[0] for message in messages])
    for _, created, updated, data in messages:
        _check(created, updated, data)
    if not messages or len({message[0] for message in messages}) < len(messages):
        raise OddRows
    ((parts,),) = _read(store, _COUNT, session_id)
    return PlainSession(rows, messages, parts)


def plain_parts(store: SqliteStore, session_id: str) -> Iterator[PlainPart]:
    """The parts of its messages, those of a message together, in the order of messages. ``check_ids`` has to look at
    their ids. Raises ``OddRows`` and ``StoreError`` on the way."""
    for message_id, part_id, created, updated, data, own in _read(store, _PARTS, session_id):
        if not own:  # a stray
            raise OddRows
        yield message_id, part_id, created, updated, data, _check(created, updated, data)


def check_ids(ids: list[Any]) -> None:
    """Raises ``OddRows`` where one is no text that every database holds and an index takes."""
    if set(map(type, ids)) - {str} or max(map(len, ids), default=0) > _LONGEST or "\0" in "".join(ids):
        raise OddRows


def _check(created: Any, updated: Any, data: Any) -> int:
    """How many characters ``data`` has. Raises ``OddRows`` for times that are no whole numbers, and what is no text, or
    none that every database holds."""
    if not type(created) is type(updated) is int or type(data) is not bytes or b"\0" in data:
        raise OddRows
    try:
        return len(data) if data.isascii() else len(data.decode())
    except UnicodeDecodeError as error:
        raise OddRows from error


def _read(store: SqliteStore, sql: str, session_id: str) -> Iterator[Any]:
    try:
        with time_limit(store.connection, store.read_seconds):
            yield from store.connection.execute(sql, (session_id,))
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" in str(error):
            raise OddRows from error
        raise explained(error, store.path) from error
    except sqlite3.Error as error:
        raise explained(error, store.path) from error
