"""Probes: "does the provider accept it now?" (docs/contract/design.md#7). What is shown is what is sent, byte for byte,
and only when told to."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from sessions_app.domain import bodies, dialects, model, planning, rowdoc, values
from sessions_app.domain.jsjson import dumps
from sessions_app.domain.locate import locate
from sessions_app.domain.model import SessionRows
from sessions_app.domain.patience import unlimited
from sessions_app.domain.processor.events import UNCOUNTED, Failure, StreamFailed, Usage
from sessions_app.domain.processor.requests import least_output, request_body
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import Target
from sessions_app.models import Probe, Session
from sessions_app.providers import Endpoint, Limits, Line, NotReachable, endpoint, stem_of
from sessions_app.providers.line import SPOKEN
from sessions_app.selectors.payloads import NoTarget, Thinking, chosen_target
from sessions_app.selectors.rows import session_rows

from .actor import Actor
from .audit import audit_record
from .reading import session_refresh
from .scanning import target_document

NEXT = "continue"
"""The history is judged as it would be sent next (docs/contract/design.md#verdict)."""


class ProbeRefused(Exception):
    """Nothing was sent. ``kind``: target (none can be told), lowering (the client cannot build a request), endpoint
    (not probeable), changed (the payload is another than the one shown), store (the session cannot be read)."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """``target`` as on command lines, "" = the session's own. Without ``as_stored`` the safe repairs are applied to
    what is lowered."""

    target: str = ""
    thinking: Thinking = "auto"
    as_stored: bool = True


@dataclass(frozen=True, slots=True)
class Prepared:
    """A probe before it is sent: to whom, how much, and the very bytes."""

    target: Target
    endpoint: Endpoint
    request: bytes
    rows_hash: str
    as_stored: bool
    session: model.Session
    """What was lowered."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.request).hexdigest()

    @property
    def size(self) -> int:
        return len(self.request)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back. ``error`` is the provider's words; ``cost`` in dollars, None = not known."""

    answer: Literal["accepted", "refused", "failed"]
    milliseconds: int
    status: int | None = None
    error: str = ""
    locations: tuple[dict[str, Any], ...] = ()
    usage: Usage = UNCOUNTED
    cost: float | None = None


def provider_endpoint(target: Target) -> Endpoint:
    """Where a target is reached. Raises ``ProbeRefused`` ("endpoint") in words."""
    if target.protocol not in SPOKEN:
        raise ProbeRefused("endpoint", f"Not probeable: nothing here sends requests of {target.protocol}.")
    try:
        found = endpoint(target.provider)
    except ImproperlyConfigured as problem:
        raise ProbeRefused("endpoint", str(problem)) from problem
    if found is None:
        raise ProbeRefused(
            "endpoint",
            f"Not probeable: no endpoint is configured for the provider {target.provider!r}. "
            f"Set {stem_of(target.provider)}_URL and {stem_of(target.provider)}_KEY.",
        )
    return found


def probe_prepare(*, rows: SessionRows, options: ProbeOptions) -> Prepared:
    """The request that a probe of these rows would send. Raises ``ProbeRefused``."""
    decoded = dialects.decode(rows)
    try:
        target = chosen_target(decoded, options.target, options.thinking)
    except NoTarget as problem:
        raise ProbeRefused("target", str(problem)) from problem
    reached = provider_endpoint(target)
    if not options.as_stored:
        plan = planning.plan(decoded, target=target)
        decoded = dialects.decode(dialects.apply(rows, plan.changes))
    try:
        body = bodies.body(decoded, target, repairs=False, next_prompt=NEXT).body
    except LoweringError as problem:
        raise ProbeRefused("lowering", f"The client cannot build this request: {problem.words}") from problem
    request = request_body(body, target, output=least_output(target), stream=False)
    sent = dumps(request).encode("utf-8", "surrogatepass")
    return Prepared(target, reached, sent, rowdoc.rows_hash(rows), options.as_stored, decoded)


@unlimited()
def probe_send(*, prepared: Prepared) -> Answered:
    """Send it, once, and wait for the answer. Raises ``ProbeRefused`` where nothing can be sent."""
    seconds = settings.SUTURE_PROBE_SECONDS
    started = time.monotonic()
    failure = None
    try:
        with Line(
            prepared.endpoint, prepared.target.protocol, Limits(connect=min(10, seconds), silence=seconds)
        ) as line:
            reply = line.send(prepared.request)
    except NotReachable as problem:
        raise ProbeRefused("endpoint", str(problem)) from problem
    except StreamFailed as problem:
        failure = problem.failure
    took = round((time.monotonic() - started) * 1000)
    if failure is None:
        return Answered("accepted", took, reply.status, usage=reply.usage, cost=prepared.endpoint.cost(reply.usage))
    places = locate(failure.message, prepared.session, prepared.target) if _is_refusal(failure) else []
    return Answered(
        "refused" if _is_refusal(failure) else "failed",
        took,
        failure.status,
        failure.message,
        tuple(values.plain(asdict(place)) for place in places),
    )


def probe_run(
    *,
    session: Session,
    options: ProbeOptions,
    actor: Actor,
    now: datetime,
    expected_digest: str = "",
) -> Probe:
    """Probe a session of the mirror and keep the answer in its history. ``expected_digest``: the payload the user
    saw."""
    prepared = session_prepare(session=session, options=options, now=now)
    if expected_digest and prepared.digest != expected_digest:
        raise ProbeRefused("changed", "Not sent: the session changed after this payload was shown.")
    return probe_keep(session=session, prepared=prepared, answered=probe_send(prepared=prepared), actor=actor, now=now)


def session_prepare(*, session: Session, options: ProbeOptions, now: datetime) -> Prepared:
    """As ``probe_prepare``, for a session of the mirror as it is stored now."""
    refreshed = session_refresh(session=session, now=now)
    if refreshed.problem or session.imported_at is None:
        words = refreshed.problem or session.error or "The rows of this session could not be read."
        raise ProbeRefused("store", words)
    return probe_prepare(rows=session_rows(session), options=options)


@unlimited()
def probe_keep(*, session: Session, prepared: Prepared, answered: Answered, actor: Actor, now: datetime) -> Probe:
    """Write the answer into the session's history."""
    probe = Probe.objects.create(
        session=session,
        session_stored_id=session.stored_id,
        rows_hash=prepared.rows_hash,
        as_stored=prepared.as_stored,
        target=target_document(prepared.target),
        host=values.name(prepared.endpoint.host),
        size=prepared.size,
        digest=prepared.digest,
        answer=answered.answer,
        status=answered.status,
        error=values.shown(answered.error),
        locations=list(answered.locations),
        usage=asdict(answered.usage) if answered.usage.total else {},
        cost=answered.cost,
        milliseconds=answered.milliseconds,
        actor=actor.name,
        face=actor.face,
        created_at=now,
    )
    audit_record(
        action="probe.run",
        actor=actor.name,
        face=actor.face,
        now=now,
        subject=("probe", probe.pk),
        session=session.stored_id,
        target=f"{prepared.target.provider}/{prepared.target.model}",
        answer=answered.answer,
    )
    return probe


def _is_refusal(failure: Failure) -> bool:
    """The provider judged the request itself, rather than who asks, how often, or that it is unwell."""
    return (
        failure.kind == "overflow"
        or failure.status in (400, 404, 413, 422)
        or (failure.status == 200 and failure.kind == "api")
    )
