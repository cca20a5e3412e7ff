"""What goes in and what comes out, as the OpenAPI document says it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from ninja import Path, Schema
from pydantic import ConfigDict, Field

type Health = Literal["blocked", "at-risk", "healthy", "unreadable", "not-scanned"]
type Protocol = Literal["anthropic-messages", "openai-chat", "openai-responses", "gemini", "bedrock-converse"]
type Thinking = Literal["on", "off", "auto"]
type Safety = Literal["safe", "lossy"]

type Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
type Id = Annotated[int, Path(ge=1, le=2**63 - 1, description="Suture's own number")]
type Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
type Words = Annotated[str, Field(max_length=500)]


class In(Schema):
    """A body: names nobody knows are refused, so that a misspelt option is not silently left out."""

    model_config = ConfigDict(extra="forbid")


class SessionQuery(Schema):
    """The filter of the sessions page."""

    q: Words = Field("", description="words in title, directory or ids")
    id: Words = Field(
        "", description="a stored id (session, message, part or call) that the session is or holds"
    )
    health: list[Health] = Field([], description="any of these")
    rule: Words = Field("", description="with a finding of this rule")
    rejected: Protocol | None = Field(None, description="rejected by this protocol")
    source: Number | None = None
    model: Words = Field("", description="provider/model last used")
    directory: Words = ""
    has: Literal["duplicate", "orphan", "stuck", "leftovers"] | None = None
    repaired: Literal["yes", "no", "undone"] | None = None
    since: dt.date | None = Field(None, description="updated on or after this day")
    until: dt.date | None = None
    min_parts: Count | None = None
    max_parts: Count | None = None
    sort: Literal[
        "health",
        "-health",
        "title",
        "-title",
        "updated",
        "-updated",
        "parts",
        "-parts",
        "size",
        "-size",
        "findings",
        "-findings",
    ] = "health"


class TargetOut(Schema):
    """What the next call goes to."""

    protocol: str = ""
    provider: str = ""
    model: str = ""
    thinking: str = ""


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


class SessionPage(Schema):
    items: list[SessionOut]
    page: int
    pages: int
    total: int
    total_is_capped: bool
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


class SessionDetailOut(SessionOut):
    """A session with its verdicts and relatives."""

    source_path: str
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


class RepairIn(In):
    """What to repair and how. Without rules: everything that is safe."""

    rules: list[Words] = Field([], description="only findings of these rules", max_length=100)
    safety: Safety = "safe"
    choices: dict[str, str] = Field(
        {}, description="finding key (or rule code) to the name of a choice", max_length=1000
    )
    messages: list[Words] = Field([], description="only findings at these messages", max_length=1000)
    reason: Annotated[str, Field(max_length=2000)] = ""
    target: Words = Field("", description="PROTOCOL[:PROVIDER/MODEL]; the session's own where left out")
    thinking: Thinking = "auto"
    force: bool = Field(False, description="close stuck tools although a client has the file open")
