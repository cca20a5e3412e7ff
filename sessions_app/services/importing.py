"""Importing: sources attached, listed, read in the background newest first, synced and deleted
(docs/contract/design.md#4).

Attaching lists session rows only. What is still to be read is a column (``Session.pending``), so an import is resumed
by whoever comes next, and doing it twice changes nothing. One worker begins it; then it is shared (``importranges``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import batched, islice
from pathlib import Path

from django.db import transaction

from sessions_app import stores
from sessions_app.domain import values
from sessions_app.domain.knownmodels import input_said
from sessions_app.domain.model import Row
from sessions_app.domain.patience import unlimited
from sessions_app.models import ImportJob, Session, Source, SourceMark
from sessions_app.services.storefacts import is_native, store_damage
from sessions_app.stores.base import Mark, Problem, Store, StoreError
from sessions_app.stores.sqlite.store import SqliteStore

from .audit import source_audit
from .counting import counted_as, counts_change
from .importranges import COPIED, import_end, import_over, ranges_make, sessions_left, source_counters_update
from .importshare import import_share
from .jobs import Clock, job_cancel, job_keep, job_run
from .mirror import session_fields
from .mirrorrows import rows_copy
from .purging import source_purge
from .reading import BUSY, source_mark, source_problems_write, stored_id

CHECK_SECONDS = 30.0
"""The longest that an import spends on asking SQLite whether the file is whole."""
LISTED = 1_000
"""Sessions that are listed when a source is attached, half a second's worth; the import lists the others."""
_BATCH = 500
_FIRST = 4
"""Sessions whose rows are brought in before anything else."""


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
    """Attach a file or folder: its newest sessions are listed on return, and a job to list the others and to read all
    is queued.

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
        rows = store.sessions()
        _list(source, islice(rows, LISTED))
        job = _job_create(source, ImportJob.Kind.IMPORT, actor, face, now)
        if next(rows, None) is not None:
            source.state = Source.State.LISTING
            source.save(update_fields=("state",))
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
    began = time.monotonic()
    waiting = ImportJob.objects.filter(pk=job_id, started_at=None)
    if waiting.exists():  # nothing is shared before it is known what there is to read
        more = job_run(ImportJob, job_id, clock, lambda job: _first_chunk(job, clock), import_over)
        if not more or waiting.exists():
            return more
    return import_share(job_id=job_id, clock=clock, seconds=max(0.0, began + seconds - time.monotonic()))


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
                import_over(job, now)
            source_audit(action="import.cancelled", source=job.source, actor=actor, face=face, now=now)


def _job_create(source: Source, kind: str, actor: str, face: str, now: datetime) -> ImportJob:
    source.state = Source.State.IMPORTING
    source.updated_at = now
    source.save(update_fields=("state", "updated_at"))
    total = sessions_left(source)
    return ImportJob.objects.create(source=source, kind=kind, actor=actor, face=face, created_at=now, total=total)


def _first_chunk(job: ImportJob, clock: Clock) -> bool:
    """What comes before an import is shared: its first rows, all that tells what is to be read."""
    try:
        with job.source.open_store() as store:
            first = _first_rows(job, store, clock)
            _begin(job, store, clock, first)
    except StoreError as problem:
        if problem.kind in BUSY:
            return True
        return import_end(job, ImportJob.State.FAILED, clock(), f"{problem.words} {problem.next_step}".strip())
    return bool(job.total) or import_end(job, ImportJob.State.DONE, clock())


def _first_rows(job: ImportJob, store: Store, clock: Clock) -> dict[str, str]:
    """Copy the rows of the newest sessions before the store is looked at as a whole, which takes long: somebody
    waits for them. Returns what ``Store.mark_of`` said of each before."""
    if not isinstance(store, SqliteStore) or job.kind == ImportJob.Kind.SYNC:
        return {}
    pending = Session.objects.filter(source=job.source, pending=True).select_related("source")
    sessions = list(pending.order_by("-time_updated", "-id")[:_FIRST])
    seen = {session.stored_id: store.mark_of(stored_id(session)) for session in sessions}
    done = rows_copy(sessions=sessions, store=store, now=clock())
    job.parts += done.parts
    job_keep(job, clock(), "parts")
    return {session.stored_id: seen[session.stored_id] for session in done.copied}


def _seen_again(source: Source, mark: Mark, first: Mapping[str, str]) -> None:
    """Those that were written to between their copying and the mark are read again, and those that were copied by a
    chunk that came to no mark: what they were then nobody knows."""
    copied = Session.objects.filter(COPIED, source=source).values_list("stored_id", flat=True)
    _mark_pending(source, [key for key in copied if key not in first or mark.sessions.get(key) != first[key]])


def _begin(job: ImportJob, store: Store, clock: Clock, first: Mapping[str, str]) -> None:
    """Take the mark first: what changes while we read will be seen by the next sync."""
    began, source = clock(), job.source
    if job.kind == ImportJob.Kind.SYNC:
        mark = _changes_list(job, store, clock)
    else:
        if source.state == Source.State.LISTING:
            _list(source, store.sessions(), lambda: job_keep(job, clock()))
            source.state = Source.State.IMPORTING
        mark = store.mark()
        _seen_again(source, mark, first)
    source.damage = store_damage(store=store, seconds=CHECK_SECONDS)
    damage = [Problem("database", message, "sqlite-corrupt") for message in source.damage]
    source_problems_write(source=source, problems=[*store.problems, *damage])
    kept = {"files": mark.files, "text": mark.to_json()}
    SourceMark.objects.update_or_create(source=source, defaults=kept)
    source.last_read_at, source.dialects = clock(), list(store.dialects)
    source.save(update_fields=("state", "last_read_at", "dialects", "damage"))
    ranges_make(job)
    job.started_at = began
    job_keep(job, clock(), "total", "started_at")


def _changes_list(job: ImportJob, store: Store, clock: Clock) -> Mark:
    """Note what changed since the last reading."""
    source = job.source
    changes = store.changed_since(source_mark(source))
    if not _known(source).issuperset(map(values.key, changes.mark.sessions)):
        _list(source, store.sessions(), lambda: job_keep(job, clock()))
    _mark_pending(source, changes.changed)
    for batch in batched(map(values.key, changes.deleted), _BATCH, strict=False):
        Session.objects.filter(source=source, stored_id__in=batch, missing_since=None).update(missing_since=clock())
    changed = len(changes.changed) + len(changes.deleted)
    source_audit(action="source.synced", source=source, actor=job.actor, face=job.face, now=clock(), changed=changed)
    return changes.mark


def _list(source: Source, rows: Iterator[Row], stop: Callable[[], bool] = lambda: False) -> None:
    """Make a row in the mirror for every session that is not there yet."""
    for some in batched(rows, _BATCH, strict=False):
        fresh: dict[str, Row] = {}
        for row in some:
            fresh.setdefault(values.key(row.get("id")), row)
        known = Session.objects.filter(source=source, stored_id__in=fresh).values_list("stored_id", flat=True)
        for key in known:
            del fresh[key]
        _create(source, [Session(source=source, stored_id=key, **session_fields(row)) for key, row in fresh.items()])
        if stop():
            break
    source_counters_update(source)


def _known(source: Source) -> set[str]:
    """Sessions that have a row in the mirror, by their stored ids."""
    return set(Session.objects.filter(source=source).values_list("stored_id", flat=True))


def _create(source: Source, fresh: list[Session]) -> None:
    with transaction.atomic():
        Session.objects.bulk_create(fresh)
        counts_change(source_id=source.pk, came=(counted for session in fresh for counted in counted_as(session)))


def _mark_pending(source: Source, stored_ids: Iterable[str]) -> None:
    for batch in batched(map(values.key, stored_ids), _BATCH, strict=False):
        Session.objects.filter(source=source, stored_id__in=batch).update(pending=True, missing_since=None)
