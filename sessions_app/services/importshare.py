"""One worker's chunk of an import: range by range, rows first, then scans."""

from __future__ import annotations

import time
from datetime import datetime
from functools import cached_property, partial

import structlog
from django.db.models import Q

from sessions_app.domain.rules import Facts
from sessions_app.models import ImportJob, ImportRange, Session, SourceMark
from sessions_app.stores.base import Store, StoreError
from sessions_app.stores.sqlite.store import SqliteStore

from .columns import sessions_update
from .importranges import (
    COPIED,
    Progress,
    import_fail,
    import_rest,
    range_end,
    range_keep,
    range_take,
)
from .jobs import GIVEN_UP, Clock, chunk_run
from .mirrorrows import PARTS, rows_copy
from .reading import BUSY, reading_state, session_read
from .scanning import sessions_scan
from .storefacts import store_facts

log = structlog.get_logger(__name__)

_OPENINGS = 4
"""A chunk works at least so many times as long as it took to open the store and to look at all of its sessions."""


def import_share(*, job_id: int, clock: Clock, seconds: float) -> bool:
    """Take ranges of a begun import for about ``seconds``; whether there may be more for whoever comes next.

    False as well where others have all that is left in hand.
    """
    job = ImportJob.objects.select_related("source").filter(pk=job_id, state__in=ImportJob.ACTIVE).first()
    if job is None:
        return False
    began = time.monotonic()
    try:
        with job.source.open_store() as store:
            return _Share(job, store, clock, began, seconds).work()
    except StoreError as problem:
        return _stopped(job, problem, clock)
    finally:
        import_rest(job_id, clock())


def _stopped(job: ImportJob, problem: StoreError, clock: Clock) -> bool:
    """The store does not answer: for now (True), or the import fails."""
    if problem.kind not in BUSY:
        import_fail(job.pk, clock(), f"{problem.words} {problem.next_step}".strip())
    return problem.kind in BUSY


class _Share:
    """What is left of a range to do is told by the columns of its sessions."""

    def __init__(self, job: ImportJob, store: Store, clock: Clock, began: float, seconds: float) -> None:
        self.job, self.store, self.clock = job, store, clock
        self.began, self.deadline = began, began + seconds
        self.made = Progress()
        self.odd: list[Session] = []
        """Those of the range that are read each on its own."""
        self.moved = self.busy = self.over = False

    @cached_property
    def facts(self) -> Facts:
        source = self.job.source
        found = store_facts(store=self.store, native=source.native, now=self.clock(), check=source.damage)
        now = time.monotonic()
        self.deadline = max(self.deadline, now + _OPENINGS * (now - self.began))
        return found

    @cached_property
    def files(self) -> str:
        """In what state they were when the import began."""
        return SourceMark.objects.filter(source=self.job.source).values_list("files", flat=True).first() or ""

    def work(self) -> bool:
        while (held := range_take(self.job.pk, self.clock())) is not None:
            self.odd, self.made = [], Progress()
            chunk_run(held, self.clock, partial(self._range, held), self._give_up)
            if self.busy or (not self.over and time.monotonic() >= self.deadline):
                return True
        return False

    def _range(self, held: ImportRange) -> bool:
        """Whether something is left of it."""
        try:
            while not range_keep(held, self.made, self.clock()):
                if self.moved and time.monotonic() >= self.deadline:
                    return True
                self.moved = True  # opening alone may take longer
                if not self._step(held):
                    range_end(held, self.made, self.clock())
                    return False
        except StoreError as problem:
            self.busy = _stopped(self.job, problem, self.clock)
            return self.busy
        return True

    def _give_up(self, now: datetime) -> None:
        self.over = True
        import_fail(self.job.pk, now, GIVEN_UP)

    def _step(self, held: ImportRange) -> bool:
        """Bring in or scan some of its sessions; False where none is left."""
        if self.odd:
            self._read(self.odd.pop())
            return True
        if held.scanning:
            return self._scan(held)
        sessions = self._sessions(held, Q(pending=True))
        if not isinstance(self.store, SqliteStore):
            self.odd = sessions[::-1]
        elif sessions:
            done = rows_copy(sessions=sessions, store=self.store, now=self.clock())
            self.made.parts += done.parts
            self.odd = done.odd[::-1]
            if self.odd and not done.copied:
                self._read(self.odd.pop())  # never only looked: the next chunk would look again
        return bool(sessions)

    def _sessions(self, held: ImportRange, which: Q) -> list[Session]:
        """Newest first. Somebody may have opened others meanwhile."""
        found = {one.pk: one for one in Session.objects.filter(which, pk__in=held.sessions).order_by()}
        for one in found.values():
            one.source = self.job.source
        return [found[key] for key in held.sessions if key in found]

    def _scan(self, held: ImportRange) -> bool:
        found: list[Session] = []
        parts = 0
        for one in self._sessions(held, COPIED):
            if parts >= PARTS:
                break
            found.append(one)
            parts += one.part_count
        if not found:
            return False
        sessions_scan(sessions=found, facts=self.facts, now=self.clock())
        failed = Session.objects.filter(pk__in=[one.pk for one in found], scanned_at=None).count()
        self.made.done += len(found) - failed
        self.made.failed += failed
        self._read_states([one for one in found if one.scanned_at is not None])
        return True

    def _read_states(self, sessions: list[Session]) -> None:
        """Sessions of files that nobody has written to since the import began need not be read again when they are
        opened."""
        if self.files and self.files == self.store.file_state():
            for session in sessions:
                session.read_state = reading_state(self.store, session.rows_hash, self.files)
            sessions_update(sessions, ["read_state"])

    def _read(self, session: Session) -> None:
        """Read one session and count it."""
        try:
            session_read(session=session, store=self.store, facts=self.facts, now=self.clock())
            self.made.parts += session.part_count
            self.made.done += 1
        except StoreError as problem:
            if problem.kind in BUSY:  # still pending: the next chunk tries again
                raise
            self.made.failed += 1
        except (
            Exception
        ):  # a fault of ours in one session must not stop the others; it is logged and the session says so
            log.exception("session could not be read", session=session.stored_id, source=self.job.source_id)
            Session.objects.filter(pk=session.pk).update(
                pending=False, error="Suture failed on this session; see the log."
            )
            self.made.failed += 1
