"""Searching all sessions by the index of their words: one interface over SQLite's FTS5 and PostgreSQL's tsvector.

The index says which blocks hold all words; a block's own text then says whether one place holds what is searched for.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from sessions_app.domain.patience import paced
from sessions_app.domain.searchtext import block_pieces
from sessions_app.models import SearchBlock, Session

from .phrases import Hit, Phrase

SECONDS = 0.5
"""How long blocks are looked through before a search says that it stopped."""
FEW = 3_000
"""Blocks whose sessions are put in order; where more hold the words, sessions are gone through in their order."""
_AT_ONCE = 50
"""Sessions whose blocks are read at a time."""


@dataclass(slots=True)
class Listed:
    """The first place of each session, by the session's key. ``next`` is where to go on, None = all were looked at."""

    hits: dict[int, Hit] = field(default_factory=dict)
    next: int | None = None


def indexed_hits(phrase: Phrase, among: QuerySet[Session] | None, start: int, wanted: int) -> Listed:
    """Sessions that hold what is searched for, the last updated first, at most ``wanted``, from the one on that has the
    number ``start`` among those that may. ``phrase.asked`` must not be empty."""
    deadline = time.monotonic() + SECONDS
    listed, at = Listed(), start
    holding = blocks_holding(phrase)
    for chunk in _chunks(holding, among, start):
        blocks = _blocks(holding, chunk)
        for session_id in paced(chunk):
            if len(listed.hits) >= wanted or time.monotonic() > deadline:
                listed.next = at
                return listed
            if hit := next(_hits(phrase, blocks[session_id]), None):
                listed.hits[session_id] = hit
            at += 1
    return listed


def blocks_holding(phrase: Phrase) -> QuerySet[SearchBlock]:
    """Blocks that hold all its words, wherever they stand in it; none where it has no word."""
    return SearchBlock.objects.filter(_holds(phrase.asked)).order_by() if phrase.asked else SearchBlock.objects.none()


def _hits(phrase: Phrase, blocks: list[bytes]) -> Iterator[Hit]:
    for block in blocks:
        for piece in block_pieces(block):
            if hit := phrase.hit(piece.at, piece.texts, piece.turn):
                yield hit


def _chunks(holding: QuerySet[SearchBlock], among: QuerySet[Session] | None, start: int) -> Iterator[list[int]]:
    """Keys of sessions that may hold it, the last updated first: of few, those that have such a block; else of all."""
    sessions = (Session.objects.all() if among is None else among).filter(indexed=True)
    few = set(holding.values_list("session", flat=True)[: FEW + 1])
    if len(few) <= FEW:
        sessions = sessions.filter(pk__in=few)
    newest = sessions.order_by("-time_updated", "-id").values_list("pk", flat=True)
    while chunk := list(newest[start : start + _AT_ONCE]):
        yield chunk
        start += len(chunk)


def _blocks(holding: QuerySet[SearchBlock], chunk: list[int]) -> Mapping[int, list[bytes]]:
    found: defaultdict[int, list[bytes]] = defaultdict(list)
    rows = holding.filter(session__in=chunk).order_by("session", "number").values_list("session", "text")
    for session_id, text in rows:
        found[session_id].append(bytes(text))
    return found


def _holds(asked: Mapping[str, bool]) -> Q | RawSQL:
    """Blocks that hold all these words. Words are letters and digits alone, so that nothing in them means anything to
    the query languages."""
    if connection.vendor == "sqlite":
        match = " AND ".join(f'"{word}"*' if prefix else f'"{word}"' for word, prefix in asked.items())
        table = "sessions_app_searchword"
        return Q(pk__in=RawSQL(f"SELECT rowid FROM {table} WHERE {table} MATCH %s", (match,)))
    query = " & ".join(f"'{word}':*" if prefix else f"'{word}'" for word, prefix in asked.items())
    # Unqualified: inside another query its table has another name, and no other has such a column.
    return RawSQL('"words" @@ %s::tsquery', (query,), output_field=BooleanField())
