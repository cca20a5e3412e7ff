"""What goes in and what comes out, as the OpenAPI document says it."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Annotated, Any, Literal

from ninja import Path, Schema
from pydantic import ConfigDict, Field

Health = Literal["blocked", "at-risk", "healthy", "unreadable", "not-scanned"]
Protocol = Literal["anthropic-messages", "openai-chat", "openai-responses", "gemini", "bedrock-converse"]
Thinking = Literal["on", "off", "auto"]
Safety = Literal["safe", "lossy"]

Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
Id = Annotated[int, Path(ge=1, le=2**63 - 1, description="Suture's own number")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
NO_NUL = r"^[^\x00]*$"
"""What PostgreSQL would refuse to store or to compare."""

Words = Annotated[str, Field(max_length=500, pattern=NO_NUL)]
Reason = Annotated[str, Field(max_length=2000, pattern=NO_NUL)]


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
    repaired: Literal["yes", "week", "no", "undone"] | None = None
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
    choices: dict[Words, Words] = Field(
        {}, description="finding key (or rule code) to the name of a choice", max_length=1000
    )
    messages: list[Words] = Field([], description="only findings at these messages", max_length=1000)
    reason: Reason = ""
    target: Words = Field("", description="PROTOCOL[:PROVIDER/MODEL]; the session's own where left out")
    thinking: Thinking = "auto"
    force: bool = Field(False, description="close stuck tools although a client has the file open")


class OperationOut(Schema):
    """One change of one part, message or session; its values are in the row changes."""

    action: Literal["delete", "replace", "insert"]
    subject: Literal["part", "message", "session"]
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
    expected_hash: Words = Field("", description="rows_hash of the plan that was looked at")


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


class RepairPage(Schema):
    items: list[RepairOut]
    page: int
    pages: int
    total: int


class UndoIn(In):
    reason: Reason = ""


class SourceOut(Schema):
    """Where sessions came from."""

    id: int
    kind: str
    origin: Literal["attached", "uploaded", "sample"]
    name: str
    path: str
    dialects: list[str]
    state: Literal["listing", "importing", "ready", "failed"]
    error: str
    note: str
    sessions_total: int
    sessions_imported: int
    parts_imported: int
    created_at: dt.datetime
    last_read_at: dt.datetime | None


class JobOut(Schema):
    """An import or a sync in the background."""

    id: int
    source_id: int
    kind: str
    state: Literal["queued", "running", "done", "cancelled", "failed"]
    total: int
    done: int
    failed: int
    error: str


class SourceJobOut(Schema):
    source: SourceOut
    job: JobOut


class AttachIn(In):
    """Attach a file or folder of the machine that Suture runs on."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    name: Annotated[str, Field(max_length=255, pattern=NO_NUL)] = ""


class SelectionIn(In):
    """Either a filter, as the sessions page has it, or ids."""

    filter: dict[str, Any] | None = Field(
        None, description="names and values of the sessions page's query string"
    )
    ids: list[Number] | None = Field(None, max_length=100_000)


class BulkIn(SelectionIn):
    rules: list[Words] = Field([], max_length=100)
    safety: Safety = "safe"
    choices: dict[Words, Words] = Field({}, max_length=1000)
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
    repairable: int
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


class BulkPage(Schema):
    items: list[BulkOut]
    page: int
    pages: int
    total: int


class LocateIn(In):
    """A provider's error text, with whatever stands around it."""

    error: Annotated[str, Field(min_length=1, max_length=200_000)]
    session: Number | None = Field(
        None, description="look in this session; without it, name the sessions that would raise it"
    )
    target: Words = ""
    thinking: Thinking = "auto"


class RaiserOut(Schema):
    """A session whose payload breaks the rule behind the error."""

    session: int
    title: str
    protocol: str
    error: str
    place: str = Field(description="stored id of the part or message")
    exact: bool = Field(description="an id of the text is in its own words")


class LocationOut(Schema):
    """One reading of an error text, the likeliest first."""

    rules: list[str] = Field(description="rules of the protocol, as A3 or O18")
    faults: list[str] = Field(description="codes of the faults it can come from")
    means: str
    protocol: str
    position: str
    message: str = Field(description='stored id of the message at fault, "" where it cannot be told')
    part: str
    by: str = Field(description='what led there: violation, position, id, or ""')


class LocatedOut(Schema):
    items: list[LocationOut]
    sessions: list[RaiserOut] = Field(description="that would raise the error, where no session was named")


class PartOut(Schema):
    id: str
    kind: str
    tool: str
    call_id: str
    status: str
    size: int
    data: Any = Field(description="null where it does not decode")
    problem: str
    findings: list[str] = Field(description="keys of the findings at it")


class MessageOut(Schema):
    id: str
    kind: str
    provider: str
    model: str
    time: int | None
    data: Any
    problem: str
    parts: list[PartOut]
    findings: list[str]


class TurnOut(Schema):
    number: int
    messages: list[MessageOut]


class TimelineOut(Schema):
    """Whole turns, in stored order: the parts with index start to end (exclusive) of all."""

    start: int
    end: int
    of: int
    turns: list[TurnOut]


class AskIn(In):
    """Whom to ask, and whether to."""

    target: Words = Field("", description="PROTOCOL:PROVIDER/MODEL; left out: the session's own")
    thinking: Thinking = "auto"
    send: bool = Field(False, description="send it; otherwise only say host and size")


class ProbeIn(AskIn):
    """A probe."""

    as_stored: bool = Field(True, description="false: with the safe repairs applied to what is sent")
    digest: Words = Field("", description="of the payload that was shown; another one is not sent")


class QuestionOut(Schema):
    """What would be sent where. ``size`` is bytes of a probe, characters of conversation for a summary."""

    sent: Literal[False]
    host: str
    size: int
    target: TargetOut
    digest: str


class ProbeOut(Schema):
    """A provider's answer."""

    sent: Literal[True]
    id: int
    host: str
    size: int
    digest: str
    target: TargetOut
    as_stored: bool
    answer: Literal["accepted", "refused", "failed"]
    status: int | None
    error: str = Field(description="the provider's words, exactly")
    locations: list[LocationOut] = Field(description="what the words point at, the likeliest first")
    usage: dict[str, int]
    cost: float | None = Field(description="dollars, null = not known")
    milliseconds: int
    actor: str
    created_at: dt.datetime


class ProbePage(Schema):
    items: list[ProbeOut]
    page: int
    pages: int
    total: int


class CompactionOut(Schema):
    """A summary: made in the background, then applied or left."""

    id: int
    session: int
    state: Literal["queued", "running", "ready", "applied", "cancelled", "failed"]
    host: str
    target: TargetOut
    total: int = Field(description="characters of conversation")
    done: int
    percent: int
    requests: int
    summary: str
    cost: float | None
    error: str
    repair: str = Field(description='the repair that wrote it, "" = not written')
    actor: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
