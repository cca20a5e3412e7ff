"""Searching inside conversations."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router

from sessions_app.selectors.searching import sessions_search

from .access import sessions
from .auth import VIEW, require
from .problems import Problem, ProblemOut
from .schemas import NO_NUL, Number, SearchOut

router = Router(tags=["sessions"])


@router.get("search", response={200: SearchOut, 422: ProblemOut}, by_alias=True, summary="Search inside conversations")
def conversations_search(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=200, pattern=NO_NUL, description='words, or "a phrase" in quotes')] = "",
    source: Annotated[list[Number] | None, Query(description="only sessions of these sources")] = None,
    start: Annotated[int, Query(alias="from", ge=0, le=2**31, description="where to go on, as `next` says")] = 0,
    everything: Annotated[bool, Query(alias="all", description="read all that is stored, whole outputs too")] = False,
) -> Any:
    """Sessions that hold all words in one place, the last updated first, fifty at most: in titles, what users and
    models said, errors, names of tools, ids, and the beginnings of arguments and output. A word is found from its
    beginning; an id of a session, message, part or call as a whole."""
    require(request, VIEW)
    if not q.strip():
        raise Problem(422, "q says what to search for.")
    among = sessions(request) if source is None else sessions(request).filter(source__in=source)
    found = sessions_search(" ".join(q.split()), start, among=among, deep=everything)
    query = request.GET.copy()
    query["from"] = str(found.next)
    return {
        "items": [
            {"session": item.row, "at": item.hit.at, "turn": item.hit.turn or None}
            | {name: getattr(item.hit, name) for name in ("before", "found", "after")}
            for item in found.hits
        ],
        "searched": found.searched,
        "total": found.total,
        "unindexed": found.unindexed,
        "read": found.read,
        "next": None if found.next is None else f"{request.path}?{query.urlencode()}",
    }
