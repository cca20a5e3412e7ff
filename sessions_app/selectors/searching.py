"""Searching inside conversations: all texts of one session, or of all of them with a bounded cost.

What is searched for is a phrase: its words one after another, whatever stands between them. Stored texts are read,
there is no index (docs/decisions/searching-inside-conversations.md).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from sessions_app.domain.patience import go_on, paced
from sessions_app.models import Message, Part, Session

from .outline import Outline
from .sessions import SessionRow, sessions_of

SILENT_KEYS = frozenset(
    {
        "type",
        "status",
        "id",
        "url",
        "uri",
        "data",
        "signature",
        "encryptedContent",
        "reasoningEncryptedContent",
        "snapshot",
        "hash",
    }
)
"""JSON members that hold no words of a conversation."""

HITS = 500
"""Places of one session that are stepped through."""
SHOWN = 50
SECONDS = 2.0
"""How long a search of all sessions reads before it says how far it came."""
_CHUNK = 400
"""Sessions that are read at a time."""
_AROUND = 70


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that holds the phrase: ``at`` is the part, else the message; the text around it in three pieces."""

    at: str
    before: str
    found: str
    after: str
    turn: int = 0
    position: int = 0


@dataclass(frozen=True, slots=True)
class SessionHit:
    row: SessionRow
    hit: Hit


@dataclass(frozen=True, slots=True)
class Found:
    """``searched`` of ``total`` sessions were read; ``next`` is where to go on (None = all were)."""

    hits: tuple[SessionHit, ...]
    searched: int
    total: int
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """What is searched for."""

    text: str

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(re.findall(r"[^\W_]+", self.text))

    @property
    def pattern(self) -> re.Pattern[str]:
        pieces = self.words
        source = r"[\W_]+".join(map(re.escape, pieces)) if pieces else re.escape(self.text)
        return re.compile(source, re.IGNORECASE)

    def held(self, name: str) -> Q:
        """Rows that can hold it: each word somewhere in the stored JSON. What stands between words may be escaped
        there."""
        condition = Q()
        for word in self.words or (json.dumps(self.text, ensure_ascii=False)[1:-1],):
            condition &= Q(**{f"{name}__icontains": word})
        return condition | Q(encoding="json")


def session_search(session: Session, outline: Outline, text: str) -> tuple[Hit, ...]:
    """The places of one session in stored order, at most ``HITS``."""
    phrase = Phrase(text.strip())
    if not phrase.text:
        return ()
    hits: list[Hit] = []
    for stored_id, value in paced(_candidates(session, phrase)):
        if stored_id in outline.places and (hit := _hit(stored_id, value, phrase)):
            turn, position = outline.places[stored_id]
            hits.append(Hit(hit.at, hit.before, hit.found, hit.after, turn, position))
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


def sessions_search(text: str, start: int = 0) -> Found:
    """Sessions that hold the phrase, the last updated first, read for about ``SECONDS``; ``start`` goes on where a
    search stopped."""
    phrase = Phrase(text.strip())
    total = Session.objects.count()
    if not phrase.text:
        return Found((), 0, total)
    deadline = time.monotonic() + SECONDS
    newest = Session.objects.order_by("-time_updated", "-id").values_list("pk", flat=True)
    hits: list[SessionHit] = []
    at = start
    while at < total and len(hits) < SHOWN and time.monotonic() < deadline:
        chunk = list(newest[at : at + _CHUNK])
        if not chunk:
            break
        hits += _in_sessions(chunk, phrase)
        at += len(chunk)
    return Found(tuple(hits), min(at, total), total, at if at < total else None)


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
                if hit := _hit(stored_id, value, phrase):
                    first[row.session_id] = hit
                    break
    return [SessionHit(row, first[row.id]) for row in sessions_of(first)]


def _hit(stored_id: str, value: Any, phrase: Phrase) -> Hit | None:
    """The first place in a stored value, which may be JSON text."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    pattern = phrase.pattern
    for text in _strings(value):
        if found := pattern.search(text):
            before = text[max(0, found.start() - _AROUND) : found.start()]
            after = text[found.end() : found.end() + _AROUND]
            return Hit(
                stored_id,
                ("…" if found.start() > _AROUND else "") + before,
                found[0],
                after + ("…" if len(text) > found.end() + _AROUND else ""),
            )
    return None


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(held for key, held in reversed(item.items()) if key not in SILENT_KEYS)
        elif isinstance(item, list):
            stack.extend(reversed(item))
