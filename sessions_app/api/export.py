"""A session handed back: as a row document, or as SQL that repairs it where it lies."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from sessions_app.domain import rowdoc
from sessions_app.models import Session
from sessions_app.selectors.rows import session_rows
from sessions_app.services.audit import audit_record
from sessions_app.services.handback.patch import patch_sql
from sessions_app.services.repairing import RepairOptions, repair_plan
from sessions_app.services.writing import RepairRefused

from .access import session_for_reading
from .auth import actor
from .problems import Problem, ProblemOut
from .repairs import refused
from .schemas import Id, Safety

router = Router(tags=["export"])

Form = Literal["rows", "patch"]

_FILES = {
    "responses": {
        200: {
            "description": "The file",
            "content": {
                "application/json": {"schema": {}},
                "application/sql": {"schema": {"type": "string"}},
            },
        }
    }
}


@router.get(
    "sessions/{sid}/export",
    response={404: ProblemOut, 409: ProblemOut, 503: ProblemOut},
    summary="Hand a session back",
    openapi_extra=_FILES,
)
def session_export(
    request: HttpRequest,
    sid: Id,
    form: Annotated[Form, Query(alias="as")] = "rows",
    safety: Annotated[Safety, Query(description="of the repairs in a patch")] = "safe",
) -> HttpResponse:
    """``rows``: every row as stored, Suture's own lossless document. ``patch``: SQL for ``sqlite3 opencode.db < patch.sql`` that repairs
    the session in one transaction, and changes nothing where a row is not what it was."""
    session = session_for_reading(request, sid)
    text, kind, ending = _rows(session) if form == "rows" else _patch(session, safety)
    audit_record(
        action="export.made",
        actor=actor(request),
        face="api",
        now=timezone.now(),
        subject=("session", session.pk),
        session=session.stored_id,
        form=form,
    )
    response = HttpResponse(text, content_type=kind)
    name = (
        "".join(letter for letter in session.stored_id if letter.isalnum() or letter in "_-")[:80]
        or "session"
    )
    response["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return response


def _rows(session: Session) -> tuple[str, str, str]:
    return rowdoc.dump(session_rows(session)), "application/json", "json"


def _patch(session: Session, safety: Safety) -> tuple[str, str, str]:
    if session.source.kind != "sqlite":
        raise Problem(409, "A patch is for a database; this session comes from another kind of store.")
    try:
        planned = repair_plan(session=session, options=RepairOptions(safety=safety), now=timezone.now())
    except RepairRefused as refusal:
        raise refused(refusal) from refusal
    if not planned.plan.changes:
        raise Problem(409, "There is nothing to repair with these options.", kind="nothing")
    return patch_sql(planned.plan.changes, made_for=session.stored_id), "application/sql", "sql"
