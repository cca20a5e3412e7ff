"""The stores of a chunk of a batch, each opened once, and what the last scans know of its sessions.

One in which nothing was found that is wished for, and which nobody wrote to since, is neither read nor planned."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from typing import Any, Self

from sessions_app.domain.model import Row
from sessions_app.domain.rowcodec import row_from_text
from sessions_app.domain.wish import Wish
from sessions_app.models import Finding, Session, Source
from sessions_app.stores.base import StoreError

from .reading import models_are_known, source_mark, stored_id
from .repair.bench import OpenStore
from .repair.refusal import refusing
from .scanning import scan_is_current


class ChunkStores:
    """``sessions``: those of the chunk, by primary key."""

    def __init__(self, ids: Collection[int], wish: Wish, now: datetime) -> None:
        self.wish, self.now = wish, now
        self.sessions: Mapping[int, Session] = Session.objects.in_bulk(ids)
        sources = Source.objects.in_bulk({session.source_id for session in self.sessions.values()})
        for session in self.sessions.values():
            session.source = sources[session.source_id]
        self._busy = self._with_something(ids)
        self._open: dict[int, OpenStore] = {}
        self._marks: dict[int, Mapping[str, str]] = {}
        self._projects: dict[int, list[Row]] = {}
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def of(self, session: Session) -> OpenStore:
        """The store of a session, as of now. Raises ``RepairRefused``."""
        source = session.source
        if source.pk not in self._open:
            with refusing():
                store = self._held.enter_context(source.open_store())
            self._open[source.pk] = OpenStore(store, self.now, source.native, source.damage, agents=source.live)
        return self._open[source.pk]

    def forget(self, session: Session) -> None:
        """Open its store anew the next time: it could not be read or written."""
        self._open.pop(session.source_id, None)

    def calm(self, session: Session) -> bool:
        """The last scan, by today's rules, found nothing in these rows that is wished for."""
        known = session.imported_at is not None and not session.pending and not session.error
        return known and self.wish.as_scanned and scan_is_current(session) and session.pk not in self._busy

    def untouched(self, session: Session) -> bool:
        """Its store says of it what it said when it was last listed, and its client's configuration too."""
        source = session.source
        if session.missing_since is not None or (source.pk in self._marks and not self._marks[source.pk]):
            return False
        if source.pk not in self._marks:
            with suppress(ValueError):
                self._marks[source.pk] = source_mark(source).sessions
            self._marks.setdefault(source.pk, {})
            self._projects[source.pk] = [row_from_text(row) for row in source.projects.values_list("row", flat=True)]
        store, key = self.of(session).store, stored_id(session)
        try:
            seen = store.mark_of(key)
            models = store.models(session.stored_row, self._projects[source.pk])
        except StoreError:
            return False
        return bool(seen) and seen == self._marks[source.pk].get(str(key)) and models_are_known(session, models)

    def _with_something(self, ids: Collection[int]) -> set[int]:
        """Sessions with a finding that the wish does not leave alone for sure."""
        found: set[int] = set()
        columns: Any = ("session", "key", "rule", "severity", "safety")
        for number, *finding in Finding.objects.filter(session__in=ids).values_list(*columns):
            if number not in found and self.wish.leaves(*finding) in ("", "lossy"):
                found.add(number)
        return found
