"""Plans and repairs."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.api.paging import PageOut

from .common import In, Reason, Safety, Thinking, Words, example
from .sessions import VerdictOut


class RepairIn(In):
    """What to repair and how. Without rules: everything that is safe."""

    model_config = example(rules=["duplicate-call-id-in-message"], safety="safe", reason="ticket 7")

    rules: list[Words] = Field(default=[], description="only findings of these rules", max_length=100)
    findings: list[Words] = Field(default=[], description="only these findings, by key", max_length=1000)
    safety: Safety = "safe"
    choices: dict[Words, Words] = Field(
        default={}, description="finding key (or rule code) to the name of a choice", max_length=1000
    )
    messages: list[Words] = Field(default=[], description="only findings at these messages", max_length=1000)
    reason: Reason = ""
    target: Words = Field(default="", description="PROTOCOL[:PROVIDER/MODEL]; the session's own where left out")
    thinking: Thinking = "auto"
    history: Literal["", "opencode-v1", "opencode-v2"] = Field(
        default="", description="of a session that holds messages of both clients, those of this one"
    )
    force: bool = Field(default=False, description="close stuck tools although a client has the file open")


class OperationOut(Schema):
    """One change of one part, message or session; its values are in the row changes."""

    action: Literal["delete", "replace", "insert"]
    subject: Literal["part", "message", "row", "session", "input", "sequence", "epoch"]
    message: str
    part: str
    why: str


class RowChangeOut(Schema):
    """``before`` null: the row is new; ``after`` null: it goes away."""

    table: str
    key: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class SkippedOut(Schema):
    finding: str
    why: str


class PlanOut(Schema):
    """What a repair would do. Send ``rows_hash`` back as ``expected_hash`` to apply exactly this."""

    rows_hash: str
    findings: list[str] = Field(description="keys of the findings it repairs")
    operations: list[OperationOut]
    changes: list[RowChangeOut]
    skipped: list[SkippedOut]
    before: VerdictOut | None = Field(description="its target's verdict as stored")
    after: VerdictOut | None = Field(description="the same after the repair; computed")
    warning: str = Field(description="a client has the file open")
    refusal: str = Field(description="why applying it would be refused now unless forced")


class RepairApplyIn(RepairIn):
    model_config = example(safety="safe", reason="ticket 7", expected_hash="")

    expected_hash: Words = Field(default="", description="rows_hash of the plan that was looked at")


class RepairOut(Schema):
    """An applied plan, or its undo."""

    id: str
    session: int | None
    session_stored_id: str
    session_title: str
    source: int | None
    batch: str | None
    undoes: str | None
    undone_by: str | None
    state: Literal["planned", "applied", "undone", "failed"]
    face: str
    actor: str
    reason: str
    rules: list[str]
    findings: list[str]
    operations: list[dict[str, Any]]
    change_count: int
    hash_before: str
    hash_after: str
    backup: str
    backup_note: str
    verification: dict[str, Any]
    error: str
    created_at: dt.datetime
    applied_at: dt.datetime | None
    undone_at: dt.datetime | None


class RepairDetailOut(RepairOut):
    changes: list[RowChangeOut]


class RepairPage(PageOut):
    items: list[RepairOut]


class UndoIn(In):
    model_config = example(reason="not what was wanted")

    reason: Reason = ""
