"""Sessions whose rows can be copied as they are, which nearly all can: read without making a row of each part."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.halves import holdable
from sessions_app.domain.model import Row, SessionRows

from .connection import explained, time_limit
from .store import SqliteStore

MESSAGE = ("id", "session_id", "time_created", "time_updated", "data")
PART = ("id", "message_id", "session_id", "time_created", "time_updated", "data")
_TYPES = (str, str, str, int, int, str)
_LONGEST = 255
_BIGINT = 2**63
_STRAY = """SELECT 1 FROM message JOIN part ON part.message_id = message.id
WHERE message.session_id = ?1 AND part.session_id IS NOT ?1 LIMIT 1"""

type PartColumns = tuple[str, str, str, int, int, str]
"""A part's row in the order of ``PART``."""


class OddRows(Exception):
    """Something in a session is not as the client writes it; what has been given of it so far is not to be used."""


@dataclass(frozen=True, slots=True)
class PlainSession:
    """``rows`` holds all but parts and siblings. ``places``: the place of each part among all, by (message id, id):
    those of a message together, in the order of messages, orphans last."""

    rows: SessionRows
    places: dict[tuple[str, str], int]


def can_be_plain(store: SqliteStore) -> bool:
    """The tables have the client's columns and no others."""
    tables = store.schema.tables
    return all(
        name in tables and tables[name].columns == columns and not tables[name].generated
        for name, columns in (("message", MESSAGE), ("part", PART))
    )


def plain_session(store: SqliteStore, session_id: str) -> PlainSession:
    """A session of opencode-v1 with usual rows only. Raises ``OddRows`` for others, and ``StoreError``."""
    seen = len(store.problems)
    rows = store.without_parts(session_id)
    odd = rows.session_message or rows.epoch is not None or rows.inputs or len(store.problems) > seen
    if odd or not rows.messages or not all(map(_usual_message, rows.messages)):
        raise OddRows
    order = {row["id"]: at for at, row in enumerate(rows.messages)}
    keys = store.query("SELECT message_id, id FROM part WHERE session_id = ?", (session_id,))
    if not all(type(one) is str for key in keys for one in key) or store.query(_STRAY, (session_id,)):
        raise OddRows
    last = len(order)
    keys.sort()
    keys.sort(key=lambda key: order.get(key[0], last))
    places = {(str(key[0]), str(key[1])): at for at, key in enumerate(keys)}
    if len(places) < len(keys) or len(order) < len(rows.messages):
        raise OddRows
    return PlainSession(rows, places)


def plain_parts(store: SqliteStore, session_id: str) -> Iterator[PartColumns]:
    """The rows of its parts as they lie in the file. Raises ``OddRows`` and ``StoreError`` on the way."""
    sql = f"{store.schema.tables['part'].select()} WHERE session_id = ?"
    try:
        with time_limit(store.connection, store.read_seconds):
            for row in store.connection.execute(sql, (session_id,)):
                if not _usual(row):
                    raise OddRows
                yield row
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" in str(error):
            raise OddRows from error
        raise explained(error, store.path) from error
    except sqlite3.Error as error:
        raise explained(error, store.path) from error


def _usual_message(row: Row) -> bool:
    values = tuple(row.values())
    return tuple(row) == MESSAGE and _usual((values[0], *values))


def _usual(row: tuple[Any, ...]) -> bool:
    """Text that every database holds, ids that an index takes, times that are whole numbers."""
    if tuple(map(type, row)) != _TYPES:
        return False
    one, other, owner, created, updated, data = row
    if len(one) > _LONGEST or len(other) > _LONGEST or len(owner) > _LONGEST:
        return False
    if not (-_BIGINT <= created < _BIGINT and -_BIGINT <= updated < _BIGINT):
        return False
    return holdable(data) and holdable(f"{one}{other}{owner}")
