"""Compacting a session that its client cannot compact any more: summarise in the background, look, apply, undo
(docs/contract/design.md#7)."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings

from sessions_app.domain import dialects, model, rowdoc, values
from sessions_app.domain.bodies import body
from sessions_app.domain.judging import verdict
from sessions_app.domain.model import SessionRows
from sessions_app.domain.processor.events import Usage
from sessions_app.domain.processor.summary import compaction_changes, told_by_events
from sessions_app.domain.repair import RowChange
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import Target, infer_target
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.models import Compaction, Repair, Session
from sessions_app.providers import Cancel, Endpoint, Line, NotReachable
from sessions_app.selectors.payloads import NoTarget, Thinking, chosen_target
from sessions_app.selectors.rows import session_rows
from sessions_app.stores.fileturns import V2_REFUSED

from .actor import Actor
from .audit import audit_record
from .jobs import Clock, job_cancel, job_finish, job_keep, job_run
from .probing import ProbeRefused, provider_endpoint
from .reading import session_refresh
from .repair.apply import changes_apply
from .repair.refusal import RepairRefused
from .scanning import target_document
from .summarising import Progress, SummaryFailed, Work, limits, random_tail, summarise_piece, summary_work

log = structlog.get_logger(__name__)

RULE = "compaction"
"""What the history names as the reason of the repair."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What a compaction would send, before anything is sent."""

    session: model.Session
    rows: SessionRows
    target: Target
    endpoint: Endpoint
    work: Work

    @property
    def requests(self) -> int:
        """At least so many."""
        return -(-len(self.work.text) // self.work.chunk)


@dataclass(frozen=True, slots=True)
class CompactionPreview:
    """What the session would be: characters the next request holds now (None = it cannot be built) and would hold, and
    the verdict then."""

    before: int | None
    after: int
    verdict: Verdict | None


def compaction_prepare(*, rows: SessionRows, live: bool, target: str = "", thinking: Thinking = "auto") -> Ready:
    """What would be summarised, by whom. ``live``: the rows are the client's own file's. Raises ``ProbeRefused`` in
    words."""
    session = dialects.decode(rows)
    if not dialects.dialect_of(session).compacted:
        raise ProbeRefused("store", f"Suture writes no compactions into sessions of {session.dialect}.")
    if session.dialect == model.V2 and live and not told_by_events(session):
        raise ProbeRefused("store", V2_REFUSED)
    try:
        chosen = chosen_target(session, target or settings.SUTURE_COMPACT_MODEL, thinking)
    except NoTarget as problem:
        raise ProbeRefused("target", str(problem)) from problem
    # A summary needs no thinking, and its text is all that is kept.
    chosen = Target(chosen.protocol, chosen.provider, chosen.model, "off", chosen.package, chosen.profile)
    endpoint = provider_endpoint(chosen)
    work = summary_work(session, endpoint)
    if not work.text:
        raise ProbeRefused("nothing", "There is nothing to summarise since the last compaction.")
    return Ready(session, rows, chosen, endpoint, work)


def session_compaction_prepare(
    *, session: Session, now: datetime, target: str = "", thinking: Thinking = "auto"
) -> Ready:
    """As ``compaction_prepare``, for a session of the mirror as it is stored now."""
    refreshed = session_refresh(session=session, now=now)
    if refreshed.problem or session.imported_at is None:
        words = refreshed.problem or session.error or "The rows of this session could not be read."
        raise ProbeRefused("store", words)
    return compaction_prepare(rows=session_rows(session), live=session.source.live, target=target, thinking=thinking)


def compaction_start(
    *, session: Session, actor: Actor, now: datetime, target: str = "", thinking: Thinking = "auto"
) -> Compaction:
    """Begin: the caller enqueues it. Raises ``ProbeRefused``."""
    if Compaction.objects.filter(session=session, state__in=Compaction.ACTIVE).exists():
        raise ProbeRefused("changed", "A summary of this session is being made already.")
    ready = session_compaction_prepare(session=session, now=now, target=target, thinking=thinking)
    return Compaction.objects.create(
        session=session,
        rows_hash=rowdoc.rows_hash(ready.rows),
        target=target_document(ready.target),
        host=values.name(ready.endpoint.host),
        total=len(ready.work.text),
        chunk=ready.work.chunk,
        summary=values.shown(ready.work.prior),
        actor=actor.name,
        face=actor.face,
        created_at=now,
    )


def compaction_run(*, job_id: int, clock: Clock) -> bool:
    """Summarise the next piece; whether there is more to do. A killed worker loses the piece in hand only."""
    return job_run(Compaction, job_id, clock, lambda job: _chunk(job, clock))


def _chunk(job: Compaction, clock: Clock) -> bool:
    job.started_at = job.started_at or clock()
    if job_keep(job, clock(), "started_at"):
        return job_finish(job, Compaction.State.CANCELLED, clock())
    rows = session_rows(job.session)
    if rowdoc.rows_hash(rows) != job.rows_hash:
        return job_finish(job, Compaction.State.FAILED, clock(), "The session changed meanwhile; start again.")
    session = dialects.decode(rows)
    target = _target(job)
    try:
        endpoint = provider_endpoint(target)
        text = summary_work(session, endpoint).text
        with Line(endpoint, target.protocol, limits()) as line:
            done = summarise_piece(line=line, target=target, text=text, at=_progress(job), cancel=_Watched(job, clock))
    except (SummaryFailed, ProbeRefused, NotReachable) as problem:
        cancelled = isinstance(problem, SummaryFailed) and problem.aborted
        state = Compaction.State.CANCELLED if cancelled else Compaction.State.FAILED
        return job_finish(job, state, clock(), "" if cancelled else str(problem))
    job.done, job.summary, job.chunk, job.requests = done.done, done.summary, done.chunk, done.requests
    job.usage, job.cost = asdict(done.usage), done.cost
    job_keep(job, clock(), "done", "summary", "chunk", "requests", "usage", "cost")
    if job.done >= job.total:
        return job_finish(job, Compaction.State.READY, clock())
    return True


def compaction_cancel(*, job: Compaction, now: datetime) -> None:
    """Have it stop; what was summarised is not applied."""
    if not job_cancel(job, now):
        ready = Compaction.objects.filter(pk=job.pk, state=Compaction.State.READY)
        ready.update(state=Compaction.State.CANCELLED, cancel_requested=True)


def compaction_preview(*, job: Compaction, now: datetime) -> CompactionPreview:
    """What applying it would give, computed from the rows as they are."""
    rows = session_rows(job.session)
    return changes_preview(rows, _changes(job, rows, now))


def changes_preview(rows: SessionRows, changes: tuple[RowChange, ...]) -> CompactionPreview:
    """What the next request holds without and with these changes."""
    before, after = dialects.decode(rows), dialects.decode(dialects.apply(rows, changes))
    target = infer_target(before)
    if target is None:
        return CompactionPreview(None, 0, None)
    return CompactionPreview(_size(before, target), _size(after, target) or 0, verdict(after, target))


def compaction_apply(*, job: Compaction, actor: Actor, now: datetime) -> Repair:
    """Write what the client itself would have written; the repair can be undone as any other. Raises
    ``RepairRefused``."""
    if job.state != Compaction.State.READY:
        raise RepairRefused(
            "state", f"This summary is {job.get_state_display().lower()}; only a ready one can be applied."
        )
    session = job.session
    refreshed = session_refresh(session=session, now=now)
    if refreshed.problem:
        raise RepairRefused("store", refreshed.problem)
    rows = session_rows(session)
    if rowdoc.rows_hash(rows) != job.rows_hash:
        raise RepairRefused("changed", "The session changed after it was summarised. Nothing was written.")
    changes = _changes(job, rows, now)
    repair = changes_apply(
        session=session,
        rows=rows,
        changes=changes,
        rules=[RULE],
        actor=actor,
        now=now,
        mirror_alone=session.dialect == model.V2 and not told_by_events(dialects.decode(rows)),
    )
    repair.words = "A summary is written, from which the client goes on"
    repair.save(update_fields=("words",))
    job.state, job.repair = Compaction.State.APPLIED, repair
    job.save(update_fields=("state", "repair"))
    audit_record(
        action="session.compacted",
        actor=actor.name,
        face=actor.face,
        now=now,
        subject=("repair", repair.public_id),
        session=session.stored_id,
        repair=repair.public_id,
    )
    return repair


def summary_changes(ready: Ready, made: Progress, now: datetime) -> tuple[RowChange, ...]:
    """The row changes of a summary that was just made of ``ready``."""
    return _written(ready.rows, ready.session, ready.target, made, now)


def _changes(job: Compaction, rows: SessionRows, now: datetime) -> tuple[RowChange, ...]:
    return _written(rows, dialects.decode(rows), _target(job), _progress(job), now)


def _written(
    rows: SessionRows, session: model.Session, target: Target, made: Progress, now: datetime
) -> tuple[RowChange, ...]:
    return compaction_changes(
        rows,
        session,
        made.summary,
        target=target,
        usage=made.usage,
        cost=made.cost or 0,
        now=int(now.timestamp() * 1000),
        tails=random_tail,
    )


def _progress(job: Compaction) -> Progress:
    usage = Usage(**job.usage) if job.usage else Usage()
    return Progress(job.done, job.summary, usage, job.cost, job.chunk, job.requests)


def _target(job: Compaction) -> Target:
    known: dict[str, Any] = job.target
    return Target(known["protocol"], known["provider"], known["model"], "off", known.get("package", ""))


def _size(session: model.Session, target: Target) -> int | None:
    try:
        return len(str(body(session, target, repairs=False, next_prompt="continue").body))
    except LoweringError:
        return None


class _Watched(Cancel):
    """A cancel that looks once a second whether the user wants one, and says meanwhile that the worker lives."""

    def __init__(self, job: Compaction, clock: Clock) -> None:
        super().__init__()
        self._job, self._now, self._looked = job, clock, time.monotonic()

    def __call__(self) -> bool:
        if not super().__call__() and time.monotonic() - self._looked >= 1:
            self._looked = time.monotonic()
            if job_keep(self._job, self._now()):
                self.set()
        return super().__call__()

    def sleep(self, milliseconds: int) -> None:
        """A second at a time, so that a cancel is noticed in the middle of a wait."""
        ends = time.monotonic() + milliseconds / 1000
        while not self() and (left := ends - time.monotonic()) > 0:
            super().sleep(round(min(1.0, left) * 1000) + 1)
