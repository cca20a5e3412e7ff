"""The session's other tabs: findings, repairs, details."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from sessions_app.selectors.history import session_repairs
from sessions_app.selectors.timeline import session_outline
from sessions_app.selectors.weight import session_weight
from sessions_app.web.findingcards import answers, finding_cards
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, load_session, page_number
from sessions_app.web.pager import numbered_pager
from sessions_app.web.shell import session_shell
from sessions_app.web.weightchart import weight_chart


@require_GET
@allowed(VIEW)
def findings(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    shell = session_shell(request, session_id, "findings")
    outline = session_outline(load_session(session_id))
    detail = shell["detail"]
    verdicts = detail.verdicts
    cards = finding_cards(outline.faults[:200], verdicts, outline.faults)
    return render(
        request,
        "sessions/findings.html",
        shell
        | {
            "cards": cards,
            "may": request.user.has_perm(REPAIR),
            "total": len(outline.faults),
            "verdicts": answers(verdicts, reverse("sessions_app:payload", args=[session_id]), detail.last_call),
        },
    )


@require_GET
@allowed(VIEW)
def repairs(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    shell = session_shell(request, session_id, "session-repairs")
    page = session_repairs(session_id, page_number(request.GET))
    return render(request, "sessions/repairs.html", shell | {"page": page, "pager": numbered_pager(page)})


@require_GET
@allowed(VIEW)
def details(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Facts, what it weighs, where the session is filed, and its removal."""
    shell = session_shell(request, session_id, "details")
    session = load_session(session_id)
    weighed, outline = session_weight(session), session_outline(session)
    chart = weight_chart(session, weighed, outline, shell["list_query"]) if weighed.weight.size else None
    may = request.user.has_perm(REPAIR)
    return render(request, "sessions/details.html", shell | {"chart": chart, "may": may})
