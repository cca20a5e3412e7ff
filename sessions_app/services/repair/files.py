"""Repairing a bare file or folder, and taking that back, without a database of our own: the journal of the data
directory is the history (docs/contract/design.md#8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from sessions_app import stores
from sessions_app.domain.handback.extent import Extent, extent
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import scan
from sessions_app.domain.wish import Wish
from sessions_app.pool import over
from sessions_app.services.storefacts import facts_apart, facts_here, is_native, store_facts
from sessions_app.stores.base import About, Store, StoreError
from sessions_app.stores.changes import GuardRefused
from sessions_app.stores.holders import Holder
from sessions_app.stores.journal import Entry

from .bench import Bench, OpenStore
from .clients import named
from .refusal import RepairRefused, guard_refusal
from .report import FileReport, SessionOutcome, operation_document
from .write import store_write

_GROUP = 500
"""Row changes written in one transaction, so that it stays far under a second (docs/contract/formats.md#a7)."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Sessions whose changes are written in one transaction."""

    outcomes: list[SessionOutcome] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    hashes: dict[str, tuple[str, str]] = field(default_factory=dict)


def file_repair(
    *,
    store: Store,
    wish: Wish,
    now: datetime,
    session_ids: Sequence[str] = (),
    actor: str = "command",
    dry_run: bool = False,
    copy: bool = False,
    jobs: int = 0,
    told: Callable[[int], object] = lambda done: None,
) -> FileReport:
    """Repair the sessions named (none = all) in ``store`` itself.

    ``copy``: the store is a copy made for this, so no journal, backup or look at who has it open.
    ``jobs`` as in ``pool.over``; ``told`` hears how many sessions are done. Raises ``StoreError``
    where a named session is not there, ``ValueError`` for a target that cannot be read; what goes wrong with one
    session is in its outcome.
    """
    report = FileReport(str(store.path), store.kind, dry_run)
    holders = () if copy else tuple(store.holders())
    if holders and not dry_run:
        report.warnings.append(f"{named(holders)} has this file open.")
    facts = store_facts(store=store, native=not copy and is_native(store.path), now=now)
    asked = _Asked(facts_apart(facts), holders, wish, now, bool(session_ids))
    ids = list(session_ids) or store.session_ids()
    group = _Group()
    for planned in over(store, ids, planner, asked, lost=_lost, jobs=jobs, say=report.warnings.append):
        report.sessions.append(planned.outcome)
        told(len(report.sessions))
        if planned.extents is None:
            continue
        report.changes += planned.changes
        report.extents.append(planned.extents)
        if dry_run:
            continue
        group.outcomes.append(planned.outcome)
        group.changes.extend(planned.changes)
        group.hashes[planned.outcome.id] = planned.hashes
        if len(group.changes) >= _GROUP:
            _write(store, group, report, actor, now, copy)
            group = _Group()
    if group.changes:
        _write(store, group, report, actor, now, copy)
    return report


class _Asked(NamedTuple):
    """What is the same for all sessions. ``named``: somebody named them, so one that is not there is an error."""

    facts: Facts
    holders: tuple[Holder, ...]
    wish: Wish
    now: datetime
    named: bool


class _Planned(NamedTuple):
    """One session, and what would be written of it. ``extents`` None: nothing."""

    outcome: SessionOutcome
    changes: tuple[RowChange, ...] = ()
    hashes: tuple[str, str] = ("", "")
    extents: tuple[Extent, Extent] | None = None


def planner(store: Store, asked: _Asked) -> Callable[[Any], _Planned]:
    """The function that plans the repair of a session of this store. Raises ``StoreError`` ("no-session") where a
    session that was named is not there."""
    whole = OpenStore(store, asked.now, asked.facts.native)
    whole.facts, whole.holders = facts_here(asked.facts, store), asked.holders

    def planned(session_id: Any) -> _Planned:
        outcome = SessionOutcome(str(session_id))
        try:
            rows = store.read(session_id)
        except StoreError as problem:
            if problem.kind == "no-session" and asked.named:
                raise
            outcome.outcome, outcome.why = "unreadable", problem.words
            return _Planned(outcome)
        outcome.title = str(rows.session.get("title") or "")
        bench = Bench(rows, asked.wish, whole)
        _tell(outcome, bench)
        if not bench.plan.changes:
            return _Planned(outcome)
        return _Planned(outcome, bench.plan.changes, bench.hashes, (extent(rows), extent(bench.rows_after)))

    return planned


def _lost(session_id: Any, words: str) -> _Planned:
    return _Planned(SessionOutcome(str(session_id), outcome="refused", why=f"Suture failed on this session ({words})."))


def _tell(outcome: SessionOutcome, bench: Bench) -> None:
    """Say what is planned for one session, and what will be left."""
    plan, wish = bench.plan, bench.wish
    result = scan(bench.after, target=bench.target, thinking=wish.thinking, facts=bench.facts)
    outcome.health = result.health
    outcome.left = [
        finding.summary
        for finding in result.findings
        if finding.severity == "blocked" and (not wish.rules or finding.rule in wish.rules)
    ]
    outcome.skipped = list(plan.skipped)
    if plan.changes:
        outcome.outcome, outcome.rules, outcome.changes = "would-repair", plan.rules, len(plan.changes)
        outcome.operations = [operation_document(operation) for operation in plan.operations]
    elif bench.refusal:
        outcome.outcome, outcome.why = "refused", bench.refusal


def _write(store: Store, group: _Group, report: FileReport, actor: str, now: datetime, copy: bool) -> None:
    expect = {session_id: before for session_id, (before, _) in group.hashes.items()}
    repair = ""
    try:
        if copy:
            store.apply(group.changes, journal=None, expect=expect)
        else:
            about = About(actor=actor, hashes=group.hashes)
            written = store_write(store=store, changes=group.changes, about=about, now=now, expect=expect)
            repair, report.backup = written.repair_id, written.backup_path
            report.repairs.append(repair)
            if written.backup.skipped and written.backup.skipped not in report.warnings:
                report.warnings.append(written.backup.skipped)
    except (GuardRefused, StoreError) as refusal:
        for outcome in group.outcomes:
            outcome.outcome, outcome.why = "refused", str(refusal)
        return
    for outcome in group.outcomes:
        outcome.outcome, outcome.repair = "repaired", repair


def entry_undo(*, entry: Entry, now: datetime, actor: str = "command", dry_run: bool = False) -> tuple[RowChange, ...]:
    """Take a journal entry back that no history of ours holds; gives the row changes. Raises ``RepairRefused``,
    ``StoreError``: nothing was written then."""
    if entry.state != "committed":
        raise RepairRefused("state", f"Repair {entry.id} is {entry.state}; only one that was written can be undone.")
    hashes = {key: (after, before) for key, (before, after) in entry.hashes.items()}
    about = About(actor=actor, undoes=entry.id, hashes=hashes)
    with stores.open_store(Path(entry.path), entry.kind) as store:
        if dry_run:
            return entry.inverse
        try:
            return store_write(store=store, changes=entry.inverse, about=about, now=now).changes
        except GuardRefused as refusal:
            raise guard_refusal(refusal) from refusal
