"""What the client would send: one payload, or all of a filter as NDJSON."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from sessions_app.domain.wire.target import parse_target
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.payloads import NoTarget, PayloadOptions, payload, payload_lines
from sessions_app.selectors.sessions import session_query

from .access import session_for_reading, sessions
from .auth import VIEW, require
from .filtering import FILTER
from .masking import lines_shown, shown
from .problems import Problem, ProblemOut
from .schemas import NO_NUL, Id, Thinking

router = Router(tags=["payloads"])

Target = Annotated[
    str,
    Query(
        max_length=500,
        pattern=NO_NUL,
        description="PROTOCOL[:PROVIDER/MODEL]; the session's own where left out",
    ),
]
AsStored = Annotated[bool, Query(description="what the client sends today, without the two fixes")]
Canonical = Annotated[bool, Query(description="the canonical messages instead of a protocol's body")]

Summary = Annotated[
    bool,
    Query(description="the summary request, which comes first where a compaction is pending, in place of the turn"),
]

Redact = Annotated[bool, Query(description="mask what looks like a key")]
History = Annotated[
    Literal["", "opencode-v1", "opencode-v2"],
    Query(description="of a session that holds messages of both clients, those of this one; else the newer ones"),
]

_JSON = {"responses": {200: {"description": "OK", "content": {"application/json": {"schema": {}}}}}}
_LINES = {
    "responses": {
        200: {
            "description": (
                "A line per session: id, session, source, target, opens_with (where a task comes first), verified,"
                " body (or canonical), or error"
            ),
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        }
    }
}


@router.get(
    "sessions/{sid}/payload",
    response={404: ProblemOut, 409: ProblemOut, 422: ProblemOut},
    summary="The request that would be sent",
    openapi_extra=_JSON,
)
def session_payload(
    request: HttpRequest,
    sid: Id,
    target: Target = "",
    thinking: Thinking = "auto",
    as_stored: AsStored = False,
    canonical: Canonical = False,
    summary: Summary = False,
    redact: Redact = False,
    history: History = "",
) -> HttpResponse:
    """The body byte for byte as the session's client would write it. A client that cannot make a request is a 409 with
    its own words.

    ``X-Suture-Masked: yes`` says that what looks like a key is masked, since the caller may not see it.
    ``X-Suture-Target`` names the target, ``X-Suture-Verified`` says whether recordings confirm this writer.
    ``X-Suture-Opens-With`` (compaction, subtask) says that the client runs this task first: the turn's body is then the
    one after it.
    """
    session = session_for_reading(request, sid)
    try:
        made = payload(session, PayloadOptions(target, thinking, as_stored, canonical, summary, redact, history))
    except NoTarget as problem:
        raise Problem(422, str(problem)) from problem
    if made.error is not None:
        raise Problem(409, made.error["message"], kind=made.error["kind"])
    text = shown(request, made.text)
    response = HttpResponse(text, content_type="application/json")
    if text != made.text:
        response["X-Suture-Masked"] = "yes"
    name = made.target
    response["X-Suture-Target"] = json.dumps(f"{name.protocol}:{name.provider}/{name.model}")[1:-1]
    response["X-Suture-Verified"] = "yes" if made.verified else "no"
    if made.opens_with:
        response["X-Suture-Opens-With"] = made.opens_with
    return response


@router.get(
    "payloads.ndjson",
    response={422: ProblemOut},
    summary="Payloads of all sessions that match",
    openapi_extra=_LINES | FILTER,
)
def payloads_export(
    request: HttpRequest,
    target: Target = "",
    thinking: Thinking = "auto",
    as_stored: AsStored = False,
    canonical: Canonical = False,
    summary: Summary = False,
    redact: Redact = False,
    history: History = "",
) -> StreamingHttpResponse:
    """Streams, so that thousands of sessions need no more memory than one; what was imported is what is lowered."""
    require(request, VIEW)
    wanted = SessionFilter.understood(request.GET, also=PayloadOptions.__dataclass_fields__)
    if target:
        try:
            parse_target(target)  # what cannot be read is no session's fault
        except ValueError as problem:
            raise Problem(422, str(problem)) from problem
    options = PayloadOptions(target, thinking, as_stored, canonical, summary, redact, history)
    lines = payload_lines(session_query(wanted, sessions(request)), options)
    response = StreamingHttpResponse(
        (line.encode() for line in lines_shown(request, lines)), content_type="application/x-ndjson"
    )
    response["Content-Disposition"] = 'attachment; filename="payloads.ndjson"'
    return response
