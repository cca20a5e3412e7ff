"""What an error text points at."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from sessions_app.domain.locate import Location, locate
from sessions_app.selectors.locating import Sighting, locate_in_session, sightings
from sessions_app.selectors.payloads import NoTarget

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
    """Paste a provider's error. With a session it is resolved to message and part; without one, sessions that would raise it are named."""
    require(request, VIEW)
    if body.session is None:
        return {"items": [_item(reading, sightings(reading)) for reading in locate(body.error)]}
    session = session_for_reading(request, body.session)
    try:
        readings = locate_in_session(session, body.error, body.target, body.thinking)
    except NoTarget as problem:
        raise Problem(422, str(problem)) from problem
    return {"items": [_item(reading, []) for reading in readings]}


def _item(reading: Location, seen: list[Sighting]) -> dict[str, Any]:
    return {
        "rules": list(reading.rules),
        "faults": list(reading.faults),
        "means": reading.means,
        "protocol": reading.protocol,
        "position": reading.position,
        "message": reading.message,
        "part": reading.part,
        "by": reading.by,
        "sessions": seen,
    }
