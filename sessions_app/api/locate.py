"""What an error text points at."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from sessions_app.domain import dialects
from sessions_app.domain.locate import locate
from sessions_app.models import Session
from sessions_app.selectors.locating import sessions_raising
from sessions_app.selectors.payloads import NoTarget, chosen_target
from sessions_app.selectors.rows import session_rows

from .access import session_for_reading
from .auth import VIEW, require
from .problems import Problem, ProblemOut
from .schemas import LocatedOut, LocateIn

router = Router(tags=["locate"])


@router.post(
    "locate",
    response={200: LocatedOut, 404: ProblemOut, 422: ProblemOut},
    summary="What an error text points at",
)
def locate_error(request: HttpRequest, body: LocateIn) -> Any:
    """Paste a provider's error. With a session it is resolved to message and part; without one, sessions that would
    raise it are named."""
    require(request, VIEW)
    if body.session is None:
        readings = locate(body.error)
        return {"items": readings, "sessions": sessions_raising(readings)}
    return {"items": _within(session_for_reading(request, body.session), body), "sessions": []}


def _within(session: Session, body: LocateIn) -> Any:
    decoded = dialects.decode(session_rows(session))
    try:
        target = chosen_target(decoded, body.target, body.thinking)
    except NoTarget as problem:
        if body.target:
            raise Problem(422, str(problem)) from problem
        target = None
    return locate(body.error, decoded, target)
