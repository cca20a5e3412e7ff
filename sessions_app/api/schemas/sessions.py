"""Sessions, their verdicts and their findings."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.api.paging import PageOut

from .common import Health


class KnownOut(Schema):
    """What is known of a model beside its name, and whose word it is."""

    input: list[str] | None = Field(None, description="modalities it reads; null: not known")
    interleaved: str | None = Field(None, description="the message's member that reasoning goes into")
    by: Literal["", "configuration", "hand"] = Field("", description="the client's configuration, or a person")


class TargetOut(Schema):
    """What the next call goes to."""

    protocol: str = ""
    provider: str = ""
    model: str = ""
    thinking: str = ""
    package: str = Field("", description="what the client writes the request with")
    capabilities: KnownOut = Field(default_factory=lambda: KnownOut(input=None, interleaved=None, by=""))


class SessionOut(Schema):
    """A session, as in a list. Times in milliseconds are the client's; ``*_at`` are Suture's."""

    id: int = Field(description="Suture's own number, {sid}")
    stored_id: str
    title: str
    directory: str
    project: str
    source_id: int
    source_name: str
    parent: str = Field(description="stored id of the parent session")
    version: str = Field(description="of the client that made it")
    dialect: str
    provider: str
    model: str
    turns: int
    messages: int
    parts: int
    size: int = Field(description="bytes of stored JSON")
    time_created: int | None
    time_updated: int | None
    time_archived: int | None
    health: Health
    stale: bool = Field(description="changed since it was scanned")
    reasons: list[str]
    blocked: int
    at_risk: int
    info: int
    rejected_by: list[str]
    target: TargetOut
    imported: bool
    missing: bool
    error: str
    scanned_at: dt.datetime | None
    repaired_at: dt.datetime | None


class SessionPage(PageOut):
    items: list[SessionOut]
    total_is_capped: bool = Field(False, description="always false: totals are exact")
    filter: str = Field(description="the filter in words")


class ViolationOut(Schema):
    """A rule of the protocol that the payload breaks."""

    rule: str
    error: str
    position: str
    message: str = ""
    part: str = ""
    certainty: str


class VerdictOut(Schema):
    """What a provider would answer to the history as it would be sent next."""

    protocol: str
    accepted: bool
    own: bool = Field(description="it is the session's own target")
    target: TargetOut
    refusal: str
    violations: list[ViolationOut]
    warnings: list[ViolationOut]
    not_checkable: list[str]
    opens_with: str = Field(
        "", description="compaction or subtask: what the client runs before the request that is judged; empty = nothing"
    )


class LastCallOut(Schema):
    """What the last call was answered with, where that was no answer."""

    finding: str = Field(description="key of the finding last-call-refused")
    summary: str
    words: str = Field(description="the provider's own sentence")
    about: Literal["history", "setting", "not-history", "generic"] = Field(description="the class of what it says")
    kind: str = Field(description="of not-history: limit, billing, login, network or model")
    model: str = Field(description="PROVIDER/MODEL that was called")
    counts: bool = Field(description="the history may be why, so it counts for health")


class SessionDetailOut(SessionOut):
    """A session with its verdicts and relatives."""

    source_path: str
    last_call: LastCallOut | None = Field(description="null where the last call was answered")
    opens_with: str = Field(
        description="compaction or subtask: what the client runs before the turn's request; empty = nothing"
    )
    verdicts: list[VerdictOut]
    children: list[int]
    parent_id: int | None
    repairs: int
    safe_findings: int = Field(description="findings that a safe repair takes away")


class FindingOut(Schema):
    """A fault that a rule found."""

    key: str
    rule: str
    severity: Literal["blocked", "at-risk", "info"]
    safety: Literal["safe", "lossy", "manual"]
    messages: list[str]
    parts: list[str]
    summary: str
    details: dict[str, Any]


class FindingsOut(Schema):
    health: Health
    scanned_at: dt.datetime | None
    stale: bool
    items: list[FindingOut]
