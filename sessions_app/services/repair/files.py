"""Repairing a bare file or folder, without a database of our own: the journal of the data directory is the history
(docs/contract/design.md#8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sessions_app.domain.handback.extent import extent
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import RowChange
from sessions_app.domain.scan import scan
from sessions_app.domain.wish import Wish
from sessions_app.services.storefacts import is_native
from sessions_app.stores.base import About, Store, StoreError
from sessions_app.stores.changes import GuardRefused

from .bench import Bench, OpenStore
from .clients import named
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
) -> FileReport:
    """Repair the sessions named (none = all) in ``store`` itself.

    ``copy``: the store is a copy made for this, so no journal, backup or look at who has it open. Raises ``StoreError``
    where a named session is not there, ``ValueError`` for a target that cannot be read; what goes wrong with one
    session is in its outcome.
    """
    report = FileReport(str(store.path), store.kind, dry_run)
    whole = OpenStore(store, now, native=not copy and is_native(store.path), agents=not copy)
    if whole.holders and not dry_run:
        report.warnings.append(f"{named(whole.holders)} has this file open.")
    group = _Group()
    for outcome, rows in _each(store, session_ids):
        report.sessions.append(outcome)
        if rows is None:
            continue
        bench = Bench(rows, wish, whole)
        _tell(outcome, bench)
        changes = bench.plan.changes
        if not changes:
            continue
        report.changes += changes
        report.extents.append((extent(rows), extent(bench.rows_after)))
        if dry_run:
            continue
        group.outcomes.append(outcome)
        group.changes.extend(changes)
        group.hashes[rows.id] = bench.hashes
        if len(group.changes) >= _GROUP:
            _write(store, group, report, actor, now, copy)
            group = _Group()
    if group.changes:
        _write(store, group, report, actor, now, copy)
    return report


def _each(store: Store, session_ids: Sequence[str]) -> Iterator[tuple[SessionOutcome, SessionRows | None]]:
    wanted = list(session_ids) or store.session_ids()
    for session_id in wanted:
        outcome = SessionOutcome(str(session_id))
        try:
            rows = store.read(session_id)
        except StoreError as problem:
            if session_ids and problem.kind == "no-session":
                raise
            outcome.outcome, outcome.why = "unreadable", problem.words
            yield outcome, None
            continue
        outcome.title = str(rows.session.get("title") or "")
        yield outcome, rows


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
