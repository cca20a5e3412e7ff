"""What an error text says, and what it points at."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from sessions_app.domain import dialects
from sessions_app.domain.locate import answer
from sessions_app.domain.wire.target import Target
from sessions_app.models import Session
from sessions_app.selectors.locating import Place, Raiser, only_session, places_among, places_within
from sessions_app.selectors.payloads import NoTarget, chosen_target
from sessions_app.selectors.rows import session_rows

from .access import session_for_reading, sessions
from .auth import VIEW, require
from .problems import Problem, ProblemOut
from .schemas import LocatedOut, LocateIn

router = Router(tags=["locate"])


@router.post(
    "locate",
    response={200: LocatedOut, 404: ProblemOut, 422: ProblemOut},
    by_alias=True,
    summary="What an error text says and points at",
)
def locate_error(request: HttpRequest, body: LocateIn) -> Any:
    """Paste an error. Its class says whose matter it is and `next` what to do. With a session it is resolved to message
    and part; without one, the sessions are named that would raise it, hold its ids or store the same words."""
    require(request, VIEW)
    said = answer(body.error)
    items = said.about_request
    raisers: tuple[Raiser, ...] = ()
    places: tuple[Place, ...] = ()
    if body.session is None:
        raisers, places = places_among(body.error, said, sessions(request))
    session = only_session(sessions(request)) if body.session is None else session_for_reading(request, body.session)
    if session is not None:
        items, places = places_within(body.error, session, _target(session, body))
    return {
        "class": said.about,
        "kind": said.kind,
        "next": said.next,
        "readings": said.readings,
        "places": places,
        "items": items,
        "sessions": raisers,
    }


def _target(session: Session, body: LocateIn) -> Target | None:
    try:
        return chosen_target(dialects.decode(session_rows(session)), body.target, body.thinking)
    except NoTarget as problem:
        if body.target:
            raise Problem(422, str(problem)) from problem
        return None
