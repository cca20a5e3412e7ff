"""Searching inside conversations: all texts of one session, or of all of them.

All sessions are searched by the index of their words (``searchindex``); those that are not in it yet, one session, and
whole outputs where somebody asks for them, by reading what is stored
(docs/decisions/searching-inside-conversations.md).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet

from sessions_app.domain.patience import go_on, paced
from sessions_app.domain.searchtext import strings
from sessions_app.models import Message, Part, Session

from .outline import Outline
from .phrases import Hit, Phrase
from .searchindex import indexed_hits
from .sessions import SessionRow, session_by_any_id, sessions_of

HITS = 500
"""Places of one session that are stepped through."""
SHOWN = 50
SECONDS = 2.0
"""How long a search reads before it says how far it came."""
_CHUNK = 400
"""Sessions that are read at a time."""


@dataclass(frozen=True, slots=True)
class SessionHit:
    row: SessionRow
    hit: Hit


@dataclass(frozen=True, slots=True)
class Found:
    """``searched`` of ``total`` sessions were seen, in the index or by reading. ``unindexed`` are not in it yet; of
    these ``read`` were read instead. ``next`` is where to go on (None = nowhere)."""

    hits: tuple[SessionHit, ...]
    searched: int
    total: int
    unindexed: int = 0
    read: int = 0
    next: int | None = None
    deep: bool = False
    """All that is stored was read, whole outputs of tools too."""

    @property
    def more(self) -> bool:
        """Not everything was looked at."""
        return self.next is not None or self.read < self.unindexed


def session_search(session: Session, outline: Outline, text: str) -> tuple[Hit, ...]:
    """The places of one session in stored order, at most ``HITS``."""
    phrase = Phrase(text)
    if not phrase:
        return ()
    hits: list[Hit] = []
    for stored_id, value in paced(_candidates(session, phrase)):
        if stored_id in outline.places and (hit := phrase.hit(stored_id, _texts(value))):
            turn, position = outline.places[stored_id]
            hits.append(replace(hit, turn=turn, position=position))
        if len(hits) >= HITS:
            break
    return tuple(sorted(hits, key=lambda hit: hit.position))


def _candidates(session: Session, phrase: Phrase) -> Iterator[tuple[str, Any]]:
    parts = Part.objects.filter(phrase.held("data"), session=session, item=None).order_by("position")
    for part in parts.only("stored_id", "data", "encoding").iterator(chunk_size=200):
        yield part.stored_id, part.value
    messages = Message.objects.filter(phrase.held("data"), session=session, table=Message.Table.SESSION_MESSAGE)
    for message in messages.order_by("position").only("stored_id", "data", "encoding").iterator(chunk_size=200):
        yield from _pieces(message)


def _pieces(message: Message) -> Iterator[tuple[str, Any]]:
    """A V2 message's content items by their ids, or the message as one."""
    try:
        value = json.loads(str(message.value))
    except (ValueError, RecursionError):
        value = None
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, list):
        yield from ((f"{message.stored_id}#{index}", item) for index, item in enumerate(content))
    else:
        yield message.stored_id, message.value


def sessions_search(text: str, start: int = 0, *, among: QuerySet[Session] | None = None, deep: bool = False) -> Found:
    """Sessions that hold it, the last updated first; ``start`` goes on where a search stopped, ``among`` None = of all.

    ``deep`` reads all that is stored, for about ``SECONDS``, as a search for what is no word has to.
    """
    phrase, sessions = Phrase(text), Session.objects.all() if among is None else among
    total = sessions.count()
    if not phrase:
        return Found((), 0, total)
    if deep or not phrase.asked:
        return _read_through(phrase, sessions, start, total)
    listed = indexed_hits(phrase, among, start, SHOWN)
    missing = sessions.filter(indexed=False, imported_at__isnull=False)
    unindexed = missing.count()
    read = _read_through(phrase, missing, 0, unindexed) if unindexed and not start else Found((), 0, 0)
    named = {} if start else _named(text, sessions)
    hits = named | listed.hits | {hit.row.id: hit.hit for hit in read.hits}
    rows = tuple(SessionHit(row, hits[row.id]) for row in sessions_of(hits))
    return Found(rows, total - unindexed + read.searched, total, unindexed, read.searched, listed.next)


def _named(text: str, sessions: QuerySet[Session]) -> dict[int, Hit]:
    """Sessions in which something has this very id, which need not be a text of theirs."""
    plain = " " in text or text.isalpha()
    places = {} if plain else {place.session: place.at for place in session_by_any_id(text)}
    keys = sessions.filter(pk__in=places).order_by().values_list("pk", flat=True) if places else ()
    return {key: Hit(places[key], "", text, "") for key in keys}


def _read_through(phrase: Phrase, sessions: QuerySet[Session], start: int, total: int) -> Found:
    deadline = time.monotonic() + SECONDS
    newest = sessions.order_by("-time_updated", "-id").values_list("pk", flat=True)
    hits: list[SessionHit] = []
    at = start
    while at < total and len(hits) < SHOWN and time.monotonic() < deadline:
        chunk = list(newest[at : at + _CHUNK])
        if not chunk:
            break
        hits += _in_sessions(chunk, phrase)
        at += len(chunk)
    return Found(tuple(hits), min(at, total), total, next=at if at < total else None, deep=True)


def _in_sessions(chunk: list[int], phrase: Phrase) -> list[SessionHit]:
    first: dict[int, Hit] = {}
    for model, more in ((Part, Q(item=None)), (Message, Q(table=Message.Table.SESSION_MESSAGE))):
        rows = model._default_manager.filter(more, phrase.held("data"), session__in=chunk)
        chosen = rows.order_by("session_id", "position").only("session_id", "stored_id", "data", "encoding")
        for row in chosen.iterator(chunk_size=200):
            go_on()
            if row.session_id in first:
                continue
            for stored_id, value in _pieces(row) if isinstance(row, Message) else [(row.stored_id, row.value)]:
                if hit := phrase.hit(stored_id, _texts(value)):
                    first[row.session_id] = hit
                    break
    return [SessionHit(row, first[row.id]) for row in sessions_of(first)]


def _texts(value: Any) -> Iterable[str]:
    """The texts of a stored value, which may be JSON text."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return strings(value)
