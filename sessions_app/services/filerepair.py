"""Repairing a bare file or folder, without a database of our own: the journal of the data directory is the history
(design 5.2, 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from sessions_app import stores
from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain import model as domain
from sessions_app.domain.handback.relink import asked_plan
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import Operation, Plan, RowChange
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import Target, parse_target
from sessions_app.models.repairs import new_public_id
from sessions_app.services.storefacts import is_native, session_facts, store_facts
from sessions_app.stores.base import About, Store, StoreError
from sessions_app.stores.changes import GuardRefused
from sessions_app.stores.holders import Holder
from sessions_app.stores.journal import Entry

from .filereport import FileReport, SessionOutcome
from .handback.patch import extent
from .repairing import operation_document, plan_rules
from .writing import RepairRefused, clients_of, full_backup, held_words, journal, named

type Thinking = Literal["on", "off", "auto"]

_GROUP = 500
"""Row changes written in one transaction, so that it stays far under a second (format A7)."""


@dataclass(frozen=True, slots=True)
class FileOptions:
    """As ``RepairOptions``; the target is text, since what it leaves out is the session's own."""

    rules: tuple[str, ...] = ()
    safety: Literal["safe", "lossy"] = "safe"
    choices: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    thinking: Thinking = "auto"
    ask: Callable[[SessionRows], tuple[Operation, ...]] | None = None
    """What was asked for by hand, in place of what the rules plan."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Sessions whose changes are written in one transaction."""

    outcomes: list[SessionOutcome] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    hashes: dict[str, tuple[str, str]] = field(default_factory=dict)


def file_repair(
    *,
    store: Store,
    options: FileOptions,
    now: datetime,
    session_ids: Sequence[str] = (),
    actor: str = "command",
    dry_run: bool = False,
    force: bool = False,
    copy: bool = False,
) -> FileReport:
    """Repair the sessions named (none = all) in ``store`` itself.

    ``copy``: the store is a copy made for this, so no journal, backup or look at who has it open. Raises ``StoreError``
    where a named session is not there, ``ValueError`` for a target that cannot be read; what goes wrong with one
    session is in its outcome.
    """
    report = FileReport(str(store.path), store.kind, dry_run)
    holders = [] if copy else store.holders()
    if holders and not dry_run:
        report.warnings.append(f"{named(holders)} has this file open.")
    clients = [] if force else clients_of(holders)
    facts = store_facts(store=store, native=not copy and is_native(store.path), now=now)
    group = _Group()
    for outcome, rows in _each(store, session_ids):
        report.sessions.append(outcome)
        if rows is None:
            continue
        changes = _plan_into(outcome, rows, options, session_facts(facts, rows), clients)
        report.changes += changes
        if changes:
            report.extents.append((extent(rows), extent(dialects.apply(rows, changes))))
        if not changes or dry_run:
            continue
        group.outcomes.append(outcome)
        group.changes.extend(changes)
        group.hashes[rows.id] = (rowdoc.rows_hash(rows), rowdoc.rows_hash(dialects.apply(rows, changes)))
        if len(group.changes) >= _GROUP:
            _write(store, group, report, actor, now, copy)
            group = _Group()
    if group.changes:
        _write(store, group, report, actor, now, copy)
    return report


def file_undo(*, entry: Entry, now: datetime, actor: str = "command", dry_run: bool = False) -> tuple[RowChange, ...]:
    """Take a journal entry back; gives the row changes. Raises ``RepairRefused``, ``StoreError``."""
    if entry.state != "committed":
        raise RepairRefused("state", f"Repair {entry.id} is {entry.state}; only one that was written can be undone.")
    with stores.open_store(Path(entry.path), entry.kind) as store:
        if dry_run:
            return entry.inverse
        about = About(
            actor=actor,
            repair_id=new_public_id(),
            undoes=entry.id,
            hashes={key: (after, before) for key, (before, after) in entry.hashes.items()},
        )
        try:
            return store.apply(entry.inverse, journal=journal(now), about=about).changes
        except GuardRefused as refusal:
            raise RepairRefused(
                "changed", str(refusal), [str(difference) for difference in refusal.changed]
            ) from refusal


def session_target(text: str, thinking: Thinking, decoded: domain.Session) -> Target | None:
    """The target a command line names, None = the session's own. Raises ``ValueError`` with words."""
    return parse_target(text, thinking, decoded) if text else None


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


def _plan_into(
    outcome: SessionOutcome, rows: SessionRows, options: FileOptions, facts: Facts, clients: Sequence[Holder]
) -> tuple[RowChange, ...]:
    """Plan one session; the outcome says what is planned and what will be left. No changes = nothing to write."""
    decoded = dialects.decode(rows)
    target = session_target(options.target, options.thinking, decoded)

    def planned(held: bool) -> Plan:
        if options.ask is not None:
            return asked_plan(rows, options.ask(rows))
        return planning.plan(
            decoded,
            target=target,
            rules=options.rules,
            safety=options.safety,
            choices=options.choices,
            facts=facts,
            held=held,
        )

    plan = planned(bool(clients))
    after = dialects.decode(dialects.apply(rows, plan.changes)) if plan.changes else decoded
    result = scan(after, target=target, thinking=options.thinking, facts=facts)
    outcome.health = result.health
    outcome.left = [
        finding.summary
        for finding in result.findings
        if finding.severity == "blocked" and (not options.rules or finding.rule in options.rules)
    ]
    outcome.skipped = list(plan.skipped)
    if not plan.changes:
        if clients and planned(False).changes:
            outcome.outcome, outcome.why = "refused", held_words(clients)
        return ()
    outcome.outcome, outcome.rules, outcome.changes = "would-repair", plan_rules(plan), len(plan.changes)
    outcome.operations = [operation_document(operation) for operation in plan.operations]
    return plan.changes


def _write(store: Store, group: _Group, report: FileReport, actor: str, now: datetime, copy: bool) -> None:
    about = About(actor=actor, repair_id=new_public_id(), hashes=group.hashes)
    expect = {session_id: before for session_id, (before, _) in group.hashes.items()}
    try:
        if copy:
            store.apply(group.changes, journal=None, expect=expect)
        else:
            backup = full_backup(store=store, now=now)
            report.backup = str(backup.path or "")
            if backup.skipped and backup.skipped not in report.warnings:
                report.warnings.append(backup.skipped)
            about = About(actor=actor, repair_id=about.repair_id, backup=report.backup, hashes=group.hashes)
            store.apply(group.changes, journal=journal(now), about=about, expect=expect)
            report.repairs.append(about.repair_id)
    except (GuardRefused, StoreError) as refusal:
        for outcome in group.outcomes:
            outcome.outcome, outcome.why = "refused", str(refusal)
        return
    for outcome in group.outcomes:
        outcome.outcome = "repaired"
        outcome.repair = "" if copy else about.repair_id
