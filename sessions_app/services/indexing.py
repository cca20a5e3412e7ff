"""The index of the words of conversations: filled where a session is scanned, and in the background what was in the
mirror before there was one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import structlog
from django.db import OperationalError, connection, transaction

from sessions_app.domain import dialects
from sessions_app.domain.searchtext import block_words, search_blocks
from sessions_app.models import SearchBlock, Session
from sessions_app.selectors.rows import session_rows

from .counting import session_locked
from .importranges import AWAITED

log = structlog.get_logger(__name__)

_AHEAD = 100
NOT_INDEXED = "Suture could not read its words for the search; see the log."


def blocks_write(blocks: Mapping[int, Sequence[bytes]]) -> None:
    """Keep ``domain.searchtext.search_blocks`` of sessions by their keys, in the caller's transaction. Of one that has
    grown, only the blocks at its end are new. The caller sets ``Session.indexed``."""
    kept: dict[int, dict[int, tuple[int, bytes]]] = {}
    for pk, session_id, number, text in SearchBlock.objects.filter(session__in=blocks).values_list(
        "pk", "session_id", "number", "text"
    ):
        kept.setdefault(session_id, {})[number] = pk, bytes(text)
    fresh: list[tuple[int, int, bytes]] = []
    gone: list[int] = []
    for session_id, wanted in blocks.items():
        stored = kept.get(session_id, {})
        same = {number for number, text in enumerate(wanted) if number in stored and stored[number][1] == text}
        gone += [pk for number, (pk, _) in stored.items() if number not in same]
        fresh += [(session_id, number, text) for number, text in enumerate(wanted) if number not in same]
    for start in range(0, len(gone), 500):
        SearchBlock.objects.filter(pk__in=gone[start : start + 500]).delete()
    _insert(fresh)


def _insert(rows: Sequence[tuple[int, int, bytes]]) -> None:
    """SQLite's trigger asks for the words of a block; PostgreSQL is given them."""
    if not rows:
        return
    table = connection.ops.quote_name(SearchBlock._meta.db_table)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.executemany(f"INSERT INTO {table} (session_id, number, text) VALUES (%s, %s, %s)", rows)
        else:
            cursor.executemany(
                f"INSERT INTO {table} (session_id, number, text, words)"
                " VALUES (%s, %s, %s, array_to_tsvector(%s::text[]))",
                [(*row, list(block_words(row[2]))) for row in rows],
            )


def index_fill(*, seconds: float = 4.0) -> bool:
    """Fill in sessions that are in the mirror and not in the index, the last updated first, for about ``seconds``;
    returns whether more are left."""
    deadline = time.monotonic() + seconds
    waiting = Session.objects.filter(indexed=False, imported_at__isnull=False).exclude(AWAITED)
    waiting = waiting.order_by("-time_updated", "-id")
    for session in waiting.select_related("source")[:_AHEAD]:
        if time.monotonic() >= deadline:
            return True
        try:
            _fill(session)
        except OperationalError:  # a locked database, or one that is away: nothing is wrong with the session
            raise
        except Exception:  # one session must not stop the others; it says so, and is not tried again with these rows
            log.exception("session could not be indexed", session=session.stored_id)
            Session.objects.filter(pk=session.pk).update(indexed=True, error=NOT_INDEXED)
    return waiting.exists()


def _fill(session: Session) -> None:
    with transaction.atomic():
        stored = session_locked(session)
        if stored.indexed:
            return
        blocks_write({session.pk: search_blocks(dialects.decode(session_rows(session)))})
        Session.objects.filter(pk=session.pk).update(indexed=True)


def index_settle() -> None:
    """Put SQLite's index in order: what was deleted leaves its file, and what was added in pieces becomes one."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO sessions_app_searchword(sessions_app_searchword) VALUES ('optimize')")
