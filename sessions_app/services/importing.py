"""Importing: sources attached, listed, read in the background newest first, synced and deleted
(docs/contract/design.md#4).

Attaching lists session rows only. What is still to be read is a column (``Session.pending``), so an import is resumed
by whoever comes next, and doing it twice changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import structlog
from django.db import transaction
from django.db.models import Count, Q, Sum

from sessions_app import stores
from sessions_app.domain import values
from sessions_app.domain.knownmodels import input_said
from sessions_app.domain.model import Row
from sessions_app.domain.patience import unlimited
from sessions_app.domain.rules import Facts
from sessions_app.models import ImportJob, Session, Source
from sessions_app.services.storefacts import is_native, store_damage, store_facts
from sessions_app.stores.base import Mark, Problem, Store, StoreError
from sessions_app.stores.sqlite.store import SqliteStore

from .audit import source_audit
from .columns import sessions_update
from .counting import counted_as, counts_change
from .jobs import Clock, job_cancel, job_finish, job_keep, job_run
from .mirror import session_fields
from .mirrorrows import PARTS, rows_copy
from .purging import source_purge
from .reading import BUSY, reading_state, session_read, source_problems_write, stored_id
from .scanning import sessions_scan

log = structlog.get_logger(__name__)

CHECK_SECONDS = 30.0
"""The longest that an import spends on asking SQLite whether the file is whole."""
_LIST_BATCH = 500
_AHEAD = 400
"""Pending sessions whose order is looked up at once."""
_COPIED = Q(pending=False, scanned_at=None, rules_version="", imported_at__isnull=False)
"""Sessions whose rows were copied and not scanned yet."""
_FIRST, _TOGETHER = 4, 40
"""Sessions whose rows, or scans, are kept in one transaction."""


def source_attach(
    *,
    path: Path,
    actor: str,
    now: datetime,
    face: str = "web",
    name: str = "",
    origin: str = Source.Origin.ATTACHED,
    stored_path: Path | None = None,
    note: str = "",
) -> tuple[Source, ImportJob]:
    """Attach a file or folder: its sessions are listed on return, and a job to read them is queued.

    A path that is attached already gives its source and a sync. ``stored_path`` is the copy that is read instead
    (uploads, samples). Raises ``StoreError`` where it is no store; nothing is kept then.
    """
    resolved = path.resolve() if stored_path is None else path
    if stored_path is None:
        known = Source.objects.filter(path=str(resolved), stored_path="").first()
        if known is not None:
            return known, source_sync(source=known, actor=actor, now=now, face=face)
    opened = stores.open_in_place(resolved) if stored_path is None else stores.open_store(stored_path)
    with opened as store, transaction.atomic():
        source = Source.objects.create(
            kind=store.kind,
            origin=origin,
            name=values.name(name or resolved.name) or "store",
            path=values.shown(str(resolved)),
            stored_path=str(stored_path or ""),
            native=stored_path is None and is_native(resolved),
            dialects=list(store.dialects),
            note=note,
            created_at=now,
            updated_at=now,
            last_read_at=now,
        )
        _list(source, store.sessions())
        job = _job_create(source, ImportJob.Kind.IMPORT, actor, face, now)
        action = "source.attached" if origin == Source.Origin.ATTACHED else "source.uploaded"
        source_audit(action=action, source=source, actor=actor, face=face, now=now)
    return source, job


def source_sync(*, source: Source, actor: str, now: datetime, face: str = "web") -> ImportJob:
    """Queue a job that reads what changed since the last reading; an active job of the source is given back instead."""
    active = ImportJob.objects.filter(source=source, state__in=ImportJob.ACTIVE).first()
    return active or _job_create(source, ImportJob.Kind.SYNC, actor, face, now)


def import_run(*, job_id: int, clock: Clock, seconds: float = 4.0) -> bool:
    """Read pending sessions of the job's source, newest first, for about ``seconds``; returns whether more are left.

    A session that cannot be read is marked and told in the source's problems; the next one goes on.
    """
    deadline = time.monotonic() + seconds
    return job_run(ImportJob, job_id, clock, lambda job: _chunk(job, clock, deadline), _source_rest)


def source_input_set(*, source: Source, said: str, actor: str, now: datetime, face: str = "web") -> bool:
    """Say what the models of a source's sessions read ("text,image,pdf"), "" = as the client's configuration has it;
    its sessions are to be judged again. Returns whether that is new. Raises ``ValueError`` for what is no input."""
    known = ",".join(input_said(said) or ())
    if known == source.input:
        return False
    source.input, source.updated_at = known, now
    source.save(update_fields=("input", "updated_at"))
    Session.objects.filter(source=source).update(rules_version="")
    source_audit(action="source.input", source=source, actor=actor, face=face, now=now, input=known or "nothing")
    return True


def source_delete(*, source: Source, actor: str, now: datetime, face: str = "web") -> None:
    """Delete what was imported from a source for good; of an upload also the stored copy. An attached file itself is
    left alone."""
    with unlimited():
        source_purge(source=source)
    source_audit(action="source.deleted", source=source, actor=actor, face=face, now=now)
    source.delete()


def import_cancel(*, job: ImportJob, actor: str, now: datetime, face: str = "web") -> None:
    """Ask a running import to stop; what it has read stays."""
    with transaction.atomic():
        if job_cancel(job, now):
            if not job.active:
                _source_rest(job, now)
            source_audit(action="import.cancelled", source=job.source, actor=actor, face=face, now=now)


def source_counters_update(source: Source) -> None:
    """Count what the source has in the mirror."""
    counts = Session.objects.filter(source=source, missing_since=None).aggregate(
        total=Count("pk"), imported=Count("pk", filter=Q(imported_at__isnull=False)), parts=Sum("part_count")
    )
    source.sessions_total, source.sessions_imported = counts["total"], counts["imported"]
    source.parts_imported = counts["parts"] or 0
    source.save(update_fields=("sessions_total", "sessions_imported", "parts_imported"))


def _job_create(source: Source, kind: str, actor: str, face: str, now: datetime) -> ImportJob:
    source.state = Source.State.IMPORTING
    source.updated_at = now
    source.save(update_fields=("state", "updated_at"))
    total = _left(source)
    return ImportJob.objects.create(source=source, kind=kind, actor=actor, face=face, created_at=now, total=total)


def _chunk(job: ImportJob, clock: Clock, deadline: float) -> bool:
    try:
        with job.source.open_store() as store:
            run = _Run(job, store, clock)
            if job.started_at is None:
                first = run.first()
                _begin(job, store, clock)
                if job.kind == ImportJob.Kind.IMPORT:
                    _seen_again(job.source, first)
            run.facts = store_facts(store=store, native=job.source.native, now=clock(), check=job.source.damage)
            read = False
            while not job_keep(job, clock(), "parts", "done", "failed"):
                if read and time.monotonic() >= deadline:  # opening alone may take longer; else nothing is ever read
                    return True
                read = True
                if not run.step():
                    return _finish(job, ImportJob.State.DONE, clock)
    except StoreError as problem:
        if problem.kind in BUSY:
            return True
        return _finish(job, ImportJob.State.FAILED, clock, f"{problem.words} {problem.next_step}".strip())
    return _finish(job, ImportJob.State.CANCELLED, clock)


class _Run:
    """One chunk of an import. First the rows of all sessions are brought in, then those that were only copied are
    scanned; what is left of either is told by the columns of the sessions."""

    def __init__(self, job: ImportJob, store: Store, clock: Clock) -> None:
        self.job, self.store, self.clock = job, store, clock
        self.facts = Facts()
        self.waiting: list[int] = []
        """Keys of pending sessions: looking for each anew would pass by all that are done each time."""
        self.odd: list[Session] = []
        """Those that are read each on its own."""
        self.unscanned: list[int] = []

    def first(self) -> dict[str, str]:
        """Copy the rows of the newest sessions before the store is looked at as a whole, which takes long: somebody
        waits for them. Returns what ``Store.mark_of`` said of each before."""
        if not isinstance(self.store, SqliteStore) or self.job.kind == ImportJob.Kind.SYNC:
            return {}
        sessions = self._next(_FIRST)
        seen = {session.stored_id: self.store.mark_of(stored_id(session)) for session in sessions}
        done = rows_copy(sessions=sessions, store=self.store, now=self.clock())
        self.job.parts += done.parts
        self.waiting.clear()
        return {session.stored_id: seen[session.stored_id] for session in done.copied}

    def step(self) -> bool:
        """Bring in or scan some sessions; False where none is left."""
        if self.odd:
            _read(self.odd.pop(), self.job, self.store, self.facts, self.clock)
            return True
        if not isinstance(self.store, SqliteStore):
            self.odd = self._next(1)
            return self.step() if self.odd else self._scan()
        sessions = self._next(_TOGETHER)
        if not sessions:
            return self._scan()
        done = rows_copy(sessions=sessions, store=self.store, now=self.clock())
        self.job.parts += done.parts
        self.waiting += [session.pk for session in reversed(done.left)]
        self.odd = done.odd[::-1]
        return True if done.copied else self.step()  # never only looked: the next chunk would look again

    def _next(self, most: int) -> list[Session]:
        """Pending sessions, newest first."""
        pending = Session.objects.filter(source=self.job.source, pending=True)
        while True:
            if not self.waiting:
                newest = pending.order_by("-time_updated", "-id").values_list("pk", flat=True)
                self.waiting += reversed(newest[:_AHEAD])
            keys = [self.waiting.pop() for _ in range(min(most, len(self.waiting)))]
            # Those that somebody opened meanwhile are not pending any more.
            found = {one.pk: one for one in pending.filter(pk__in=keys).select_related("source").order_by()}
            if found or not keys:
                return [found[key] for key in keys if key in found]

    def _scan(self) -> bool:
        copied = Session.objects.filter(_COPIED, source=self.job.source)
        if not self.unscanned:
            newest = copied.order_by("-time_updated", "-id").values_list("pk", flat=True)
            self.unscanned += reversed(newest[:_AHEAD])
        sizes = dict(copied.filter(pk__in=self.unscanned[-_TOGETHER:]).values_list("pk", "part_count"))
        keys: list[int] = []
        parts = 0
        while self.unscanned and len(keys) < _TOGETHER and parts < PARTS:
            keys.append(self.unscanned.pop())
            parts += sizes.get(keys[-1], 0)
        found = list(copied.filter(pk__in=keys).select_related("source").order_by("-time_updated", "-id"))
        sessions_scan(sessions=found, facts=self.facts, now=self.clock())
        failed = Session.objects.filter(pk__in=[one.pk for one in found], scanned_at=None).count()
        self.job.done += len(found) - failed
        self.job.failed += failed
        _read_states(self.job.source, self.store, [one for one in found if one.scanned_at is not None])
        return bool(keys)


def _left(source: Source) -> int:
    """Sessions that an import still has to read or to scan."""
    return Session.objects.filter(Q(pending=True) | _COPIED, source=source).count()


def _read_states(source: Source, store: Store, sessions: list[Session]) -> None:
    """Sessions of files that nobody has written to since the import began need not be read again when they are
    opened."""
    files = Mark.from_json(source.sync_mark).files if source.sync_mark else ""
    if files and files == store.file_state():
        for session in sessions:
            session.read_state = reading_state(store, session.rows_hash, files)
        sessions_update(sessions, ["read_state"])


def _seen_again(source: Source, first: Mapping[str, str]) -> None:
    """Those that were written to between their copying and the mark are read again, and those that were copied by a
    chunk that came to no mark: what they were then nobody knows."""
    now = Mark.from_json(source.sync_mark).sessions
    copied = Session.objects.filter(_COPIED, source=source).values_list("stored_id", flat=True)
    _mark_pending(source, [key for key in copied if key not in first or now.get(key) != first[key]])


def _begin(job: ImportJob, store: Store, clock: Clock) -> None:
    """Take the mark first: what changes while we read will be seen by the next sync."""
    began, source = clock(), job.source
    if job.kind == ImportJob.Kind.SYNC:
        changes = store.changed_since(Mark.from_json(source.sync_mark or "{}"))
        if not _known(source).issuperset(map(values.key, changes.mark.sessions)):
            _list(source, store.sessions())
        _mark_pending(source, changes.changed)
        for batch in _batches([values.key(stored_id) for stored_id in changes.deleted]):
            Session.objects.filter(source=source, stored_id__in=batch, missing_since=None).update(missing_since=clock())
        changed = len(changes.changed) + len(changes.deleted)
        source_audit(
            action="source.synced", source=source, actor=job.actor, face=job.face, now=clock(), changed=changed
        )
        mark = changes.mark
    else:
        mark = store.mark()
    source.damage = store_damage(store=store, seconds=CHECK_SECONDS)
    damage = [Problem("database", message, "sqlite-corrupt") for message in source.damage]
    source_problems_write(source=source, problems=[*store.problems, *damage])
    source.sync_mark = mark.to_json()
    source.last_read_at, source.dialects = clock(), list(store.dialects)
    source.save(update_fields=("sync_mark", "last_read_at", "dialects", "damage"))
    job.total = _left(source)
    job.started_at = began
    job_keep(job, clock(), "total", "started_at")


def _list(source: Source, rows: Iterable[Row]) -> None:
    """Make a row in the mirror for every session that is not there yet."""
    known = _known(source)
    fresh: list[Session] = []
    for row in rows:
        stored_id = values.key(row.get("id"))
        if stored_id in known:
            continue
        known.add(stored_id)
        fresh.append(Session(source=source, stored_id=stored_id, **session_fields(row)))
        if len(fresh) >= _LIST_BATCH:
            _create(source, fresh)
            fresh = []
    _create(source, fresh)
    source_counters_update(source)


def _known(source: Source) -> set[str]:
    """Sessions that have a row in the mirror, by their stored ids."""
    return set(Session.objects.filter(source=source).values_list("stored_id", flat=True))


def _create(source: Source, fresh: list[Session]) -> None:
    with transaction.atomic():
        Session.objects.bulk_create(fresh)
        counts_change(source_id=source.pk, came=(counted for session in fresh for counted in counted_as(session)))


def _mark_pending(source: Source, stored_ids: Iterable[str]) -> None:
    for batch in _batches([values.key(one) for one in stored_ids]):
        Session.objects.filter(source=source, stored_id__in=batch).update(pending=True, missing_since=None)


def _read(session: Session, job: ImportJob, store: Store, facts: Facts, clock: Clock) -> None:
    """Read one session and count it."""
    try:
        session_read(session=session, store=store, facts=facts, now=clock())
        job.parts += session.part_count
        job.done += 1
    except StoreError as problem:
        if problem.kind in BUSY:  # still pending: the next chunk tries again
            raise
        job.failed += 1
    except Exception:  # a fault of ours in one session must not stop the others; it is logged and the session says so
        log.exception("session could not be read", session=session.stored_id, source=job.source_id)
        Session.objects.filter(pk=session.pk).update(pending=False, error="Suture failed on this session; see the log.")
        job.failed += 1


def _finish(job: ImportJob, state: str, clock: Clock, error: str = "") -> bool:
    now = clock()
    with transaction.atomic():  # never a source that is said to be read still, with a job that has ended
        job_finish(job, state, now, error)
        _source_rest(job, now)
    return False


def _source_rest(job: ImportJob, now: datetime) -> None:
    """The job has ended: its source is not read any more."""
    source = job.source
    source_counters_update(source)
    source.state = Source.State.FAILED if job.state == ImportJob.State.FAILED else Source.State.READY
    source.error, source.updated_at = job.error, now
    source.save(update_fields=("state", "error", "updated_at"))


def _batches(ids: list[str]) -> Iterable[list[str]]:
    for start in range(0, len(ids), _LIST_BATCH):
        yield ids[start : start + _LIST_BATCH]
