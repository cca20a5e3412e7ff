"""A session handed back in every form (docs/handing-back.md)."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from ninja import Query, Router

from sessions_app.domain.wish import Wish
from sessions_app.downloads import attachment
from sessions_app.services.audit import audit_record
from sessions_app.services.handback.handing import Form, HandBackRefused, HandOptions, session_handed

from .access import session_for_reading
from .auth import actor
from .masking import may_reveal
from .problems import Problem, ProblemOut
from .schemas import Id, Safety

router = Router(tags=["export"])

_STATUS = {"form": 409, "nothing": 409, "store": 503, "masked": 403}
_FILES = {
    "responses": {
        200: {
            "description": "The file. What whoever gets it has to know is in `X-Suture-Note`, a sentence each.",
            "content": {
                "application/json": {"schema": {}},
                "application/sql": {"schema": {"type": "string"}},
                "text/markdown": {"schema": {"type": "string"}},
                "application/zip": {"schema": {"type": "string", "format": "binary"}},
                "application/gzip": {"schema": {"type": "string", "format": "binary"}},
                "application/vnd.sqlite3": {"schema": {"type": "string", "format": "binary"}},
            },
        }
    }
}


@router.get(
    "sessions/{sid}/export",
    response={404: ProblemOut, 409: ProblemOut, 422: ProblemOut, 503: ProblemOut},
    summary="Hand a session back",
    openapi_extra=_FILES,
)
def session_export(
    request: HttpRequest,
    sid: Id,
    form: Annotated[Form, Query(alias="as")] = "rows",
    safety: Annotated[Safety, Query(description="how far the repair in it may go")] = "safe",
    repaired: Annotated[bool, Query(description="as it is after the repair, else as stored")] = True,
    ids: Annotated[
        str, Query(pattern="^(fresh|same)$", description="of an export: same = delete the session first")
    ] = "fresh",
    children: Annotated[bool, Query(description="an export with the subagents' sessions, as a zip")] = False,
) -> HttpResponseBase:
    """``rows``: every row as stored, Suture's own lossless document. ``export``: what ``opencode import`` takes, under
    fresh ids. ``patch``: SQL for ``sqlite3 opencode.db < patch.sql`` that repairs the session in one transaction, and
    changes nothing where a row is not what it was; ``undo`` takes it back. ``database``, ``tree``: a copy of the whole
    store with this session repaired; log-ins are blanked. ``report``: Markdown for a ticket. ``bundle``: the rows with
    every text masked. For callers who may not repair, what looks like a key is masked in ``rows``, ``export`` and
    ``report``; the forms that are written back whole are refused."""
    session = session_for_reading(request, sid)
    now = timezone.now()
    options = HandOptions(repaired=repaired, fresh=ids == "fresh", children=children, masked=not may_reveal(request))
    wish = Wish.of(safety=safety)
    try:
        with session_handed(session=session, form=form, options=options, wish=wish, now=now) as made:
            response = attachment(made)
    except HandBackRefused as refusal:
        raise Problem(_STATUS[refusal.kind], refusal.words, kind=refusal.kind) from refusal
    audit_record(
        action="export.made",
        actor=actor(request),
        face="api",
        now=now,
        subject=("session", session.pk),
        session=session.stored_id,
        form=form,
    )
    return response
