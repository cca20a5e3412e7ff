"""Sessions filed where their client looks for them: some by name, or all of a folder that was moved, in one write
(docs/handing-back.md#hidden-sessions)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sessions_app.domain import dialects, values
from sessions_app.domain.handback.relink import Move, project_moves, relink_operations
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import OperationError, RowChange
from sessions_app.domain.rules import Context, find_all
from sessions_app.domain.rules import Finding as Found
from sessions_app.services.repair.bench import Bench, OpenStore
from sessions_app.services.repair.report import FileReport, SessionOutcome, operation_document
from sessions_app.services.repair.write import store_write
from sessions_app.stores.base import About, StoreError
from sessions_app.stores.changes import GuardRefused

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Finding, Session


@dataclass(slots=True)
class Relinking(FileReport):
    """One plan and one write for all sessions. ``moved``: changes of projects, which move with their folder."""

    moved: tuple[RowChange, ...] = ()

    def columns(self, session_id: str) -> tuple[Row, Row]:
        """The columns of a session that change: what is stored, and what it becomes."""
        mine = (one for one in self.changes if one.table == "session" and one.key.get("id") == session_id)
        return next(map(_differing, mine), ({}, {}))

    def document(self) -> dict[str, Any]:
        document = FileReport.document(self)
        for session in document["sessions"]:
            session["before"], session["after"] = self.columns(session["id"])
        named = [(one.key["id"], *_differing(one)) for one in self.moved]
        document["projects"] = [{"id": key, "before": before, "after": after} for key, before, after in named]
        plain: dict[str, Any] = values.plain(document)
        return plain


def sessions_relink(
    *,
    whole: OpenStore,
    session_ids: Sequence[str] = (),
    directory: str = "",
    move: Move | None = None,
    unarchive: bool = True,
    actor: str,
    dry_run: bool = False,
) -> Relinking:
    """File the sessions named where their client looks, in ``directory`` where one is given; or with ``move`` all (of
    those named) that lie in the folder that was moved, and its projects with it.

    All or nothing is written, as one repair. A session that cannot be filed is refused, and the others are not. Raises
    ``StoreError``, ``OperationError`` where ``directory`` is no path.
    """
    store = whole.store
    report = Relinking(str(store.path), store.kind, dry_run)
    changes: list[RowChange] = []
    for rows in _wanted(whole, session_ids, move):
        if move is not None and not changes and store.kind == "sqlite":
            report.moved = project_moves(rows.projects, move)
        outcome = SessionOutcome(rows.id, str(rows.session.get("title") or ""))
        report.sessions.append(outcome)
        changes += _planned(outcome, _with_moved(rows, report.moved), whole, directory, move, unarchive)
    report.changes = [*(report.moved if changes else ()), *changes]
    report.moved = report.moved if changes else ()
    if report.changes and not dry_run:
        _write(report, whole, actor)
    return report


def unlisted(finding: Found | Finding) -> str:
    """Why no place in its store makes the client list a session, and what works."""
    return f"{finding.summary}. {finding.details['hint']}"


def instead(findings: Sequence[Finding]) -> str:
    """What works where filing a session elsewhere does not; "" = it does."""
    return next((str(one.details["hint"]) for one in findings if one.rule == "hidden-generation"), "")


def session_unlisted(*, session: Session) -> str:
    """As ``unlisted``, of a session of the mirror as it was scanned last; "" = its place decides."""
    found = session.findings.filter(rule="hidden-generation").first()
    return unlisted(found) if found is not None else ""


def _wanted(whole: OpenStore, session_ids: Sequence[str], move: Move | None) -> Iterator[SessionRows]:
    if session_ids and move is None:
        yield from map(whole.store.read, dict.fromkeys(session_ids))
        return
    if move is None:
        return
    for row in whole.store.sessions():
        if move.where(row.get("directory")) and (not session_ids or row["id"] in session_ids):
            yield whole.store.read(row["id"])


def _with_moved(rows: SessionRows, moved: Sequence[RowChange]) -> SessionRows:
    now = {change.key["id"]: change.after for change in moved}
    return replace(rows, projects=[now.get(project.get("id")) or project for project in rows.projects]) if now else rows


def _planned(
    outcome: SessionOutcome, rows: SessionRows, whole: OpenStore, directory: str, move: Move | None, unarchive: bool
) -> tuple[RowChange, ...]:
    bench = Bench(rows, whole=whole)
    for found in find_all(Context(bench.decoded, None, bench.facts), ("hidden-generation",)):
        outcome.outcome, outcome.why = "refused", unlisted(found)
        return ()
    wanted = directory if move is None else move.where(rows.session.get("directory"))
    try:
        operations = relink_operations(rows, wanted, unarchive=unarchive and move is None)
        changes = dialects.compile(rows, operations)
    except OperationError as problem:
        outcome.outcome, outcome.why = "refused", str(problem)
        return ()
    if changes:
        outcome.outcome, outcome.changes = "would-repair", len(changes)
        outcome.operations = [operation_document(operation) for operation in operations]
    return changes


def _write(report: Relinking, whole: OpenStore, actor: str) -> None:
    reason = "sessions filed where their client looks"
    planned = [outcome for outcome in report.sessions if outcome.outcome == "would-repair"]
    try:
        written = store_write(
            store=whole.store, changes=report.changes, about=About(actor=actor, reason=reason), now=whole.now
        )
    except (GuardRefused, StoreError) as refusal:
        for outcome in planned:
            outcome.outcome, outcome.why = "refused", str(refusal)
        return
    report.repairs, report.backup = [written.repair_id], written.backup_path
    if written.backup.skipped:
        report.warnings.append(written.backup.skipped)
    for outcome in planned:
        outcome.outcome, outcome.repair = "repaired", written.repair_id


def _differing(change: RowChange) -> tuple[Row, Row]:
    before, after = change.before or {}, change.after or {}
    names = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in names}, {name: after[name] for name in names}
