"""What became of a repair of a bare file, session by session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from sessions_app.domain import values
from sessions_app.domain.handback.extent import Extent
from sessions_app.domain.repair import Operation, RowChange


def operation_document(operation: Operation) -> dict[str, Any]:
    """An operation as the history shows it; its values are in the row changes."""
    document: dict[str, Any] = values.plain(
        {
            "action": operation.action,
            "subject": operation.subject,
            "message": operation.message_id,
            "part": operation.part_id,
            "why": operation.why,
        }
    )
    return document


@dataclass(slots=True)
class SessionOutcome:
    """What became of one session. ``left``: findings that still block it, summary by summary."""

    id: str
    title: str = ""
    outcome: Literal["repaired", "would-repair", "nothing", "refused", "unreadable"] = "nothing"
    why: str = ""
    rules: list[str] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    changes: int = 0
    health: str = ""
    left: list[str] = field(default_factory=list)
    repair: str = ""

    @property
    def complete(self) -> bool:
        return self.outcome not in ("refused", "unreadable") and not self.left


@dataclass(slots=True)
class FileReport:
    """A run over one store. ``repairs`` are what ``undo`` takes; empty for copies and dry runs."""

    path: str
    kind: str
    dry_run: bool = False
    sessions: list[SessionOutcome] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    backup: str = ""
    warnings: list[str] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    """Every row change, in order: what a patch is written from."""
    extents: list[tuple[Extent, Extent]] = field(default_factory=list)
    """How much each changed session holds, before and after: a patch is refused where the session went on."""

    @property
    def complete(self) -> bool:
        return all(session.complete for session in self.sessions)

    def document(self) -> dict[str, Any]:
        """As JSON has it (``repair --json``)."""
        return {
            "path": self.path,
            "kind": self.kind,
            "dry_run": self.dry_run,
            "repairs": self.repairs,
            "backup": self.backup,
            "warnings": self.warnings,
            "sessions": [
                {
                    "id": session.id,
                    "title": session.title,
                    "outcome": session.outcome,
                    "why": session.why,
                    "rules": session.rules,
                    "operations": session.operations,
                    "skipped": [{"finding": key, "why": why} for key, why in session.skipped],
                    "changes": session.changes,
                    "health": session.health,
                    "left": session.left,
                    "repair": session.repair,
                }
                for session in self.sessions
            ],
        }
