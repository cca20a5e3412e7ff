"""Repairs of many sessions."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.api.paging import PageOut

from .common import In, Number, Reason, Safety, Words, example


class SelectionIn(In):
    """Either a filter, as the sessions page has it, or ids."""

    filter: dict[str, Any] | None = Field(None, description="names and values of the sessions page's query string")
    ids: list[Number] | None = Field(None, max_length=100_000)


class BulkIn(SelectionIn):
    model_config = example(filter={"health": "blocked"}, safety="safe", reason="nightly", dry_run=True)

    rules: list[Words] = Field(default=[], max_length=100)
    findings: list[Words] = Field(default=[], max_length=1000)
    safety: Safety = "safe"
    choices: dict[Words, Words] = Field(default={}, max_length=1000)
    stop_on_failure: bool = False
    force: bool = False
    reason: Reason = ""
    dry_run: bool = Field(False, description="answer with the preview, start nothing")


class RuleLineOut(Schema):
    rule: str
    title: str
    severity: str
    safety: str
    sessions: int
    findings: int
    taken: bool
    why: str


class SkipOut(Schema):
    why: str
    sessions: int
    examples: list[tuple[int, str]]


class BulkPreviewOut(Schema):
    """What a bulk repair would do."""

    words: str
    total: int
    repairable: int = Field(description="sessions that would be changed")
    freed: int = Field(description="of these, blocked ones that can go on after")
    still_blocked: int = Field(description="of these, blocked ones that something else still blocks")
    unjudged: int
    rules: list[RuleLineOut]
    skipped: list[SkipOut]


class BulkOut(Schema):
    """A batch: its options, state and progress."""

    id: uuid.UUID
    state: Literal["queued", "running", "done", "cancelled", "failed", "undoing", "undone"]
    filter: dict[str, Any]
    options: dict[str, Any]
    reason: str
    actor: str
    total: int
    done: int
    repaired: int
    skipped: int
    failed: int
    to_undo: int = Field(description="repairs that an undo would take back")
    error: str
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class BulkPage(PageOut):
    items: list[BulkOut]
