"""Sessions: the list, one session, what was found in it."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router

from sessions_app.models import Finding, Verdict
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.sessions import SessionDetail, SessionRow, session_detail, session_page

from .access import session_for_reading, sessions
from .auth import VIEW, require
from .filtering import FILTER
from .paging import next_page
from .problems import ProblemOut
from .schemas import FindingsOut, Id, SessionDetailOut, SessionPage, VerdictOut

router = Router(tags=["sessions"])


@router.get("sessions", response={200: SessionPage, 422: ProblemOut}, summary="List sessions", openapi_extra=FILTER)
def sessions_list(
    request: HttpRequest,
    page: Annotated[int, Query(ge=1, le=10_000_000)] = 1,
    per_page: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Any:
    """The sessions that match, a page at a time; one beyond the last is empty."""
    require(request, VIEW)
    wanted = SessionFilter.understood(request.GET, also=("page", "per_page"))
    shown = session_page(wanted, page, per_page, among=sessions(request)).page
    return {
        "items": shown.rows,
        "page": shown.number,
        "pages": shown.pages,
        "total": shown.total,
        "next": next_page(request, shown.number, shown.pages),
        "filter": wanted.sentence(),
    }


@router.get("sessions/{sid}", response={200: SessionDetailOut, 404: ProblemOut}, summary="One session")
def session_get(request: HttpRequest, sid: Id) -> Any:
    """A session with its verdicts and relatives."""
    session_for_reading(request, sid)
    detail = session_detail(sid)
    assert detail is not None
    return _detail(detail)


@router.get("sessions/{sid}/findings", response={200: FindingsOut, 404: ProblemOut}, summary="Findings of a session")
def session_findings(request: HttpRequest, sid: Id) -> Any:
    """The findings of the last scan, in the order of the session."""
    session = session_for_reading(request, sid)
    return {
        "health": session.health,
        "scanned_at": session.scanned_at,
        "stale": session.scanned_at is not None and not session.scan_is_current,
        "items": list(Finding.objects.filter(session=session)),
    }


@router.get(
    "sessions/{sid}/verdicts",
    response={200: list[VerdictOut], 404: ProblemOut},
    summary="Verdicts of a session",
)
def session_verdicts(request: HttpRequest, sid: Id) -> Any:
    """What each protocol's provider would answer, the session's own target first."""
    session = session_for_reading(request, sid)
    return list(Verdict.objects.filter(session=session).order_by("-own", "protocol"))


def _detail(detail: SessionDetail) -> dict[str, Any]:
    return {
        **{name: getattr(detail.row, name) for name in SessionRow.__dataclass_fields__},
        "source_path": detail.source_path,
        "last_call": detail.last_call,
        "opens_with": detail.opens_with,
        "verdicts": list(detail.verdicts),
        "children": [child.id for child in detail.children],
        "parent_id": detail.parent.id if detail.parent else None,
        "repairs": detail.repair_count,
        "safe_findings": detail.safe_count,
    }
