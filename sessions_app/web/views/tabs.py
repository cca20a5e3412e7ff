"""The session's other tabs: findings, repairs, raw rows, details."""

from __future__ import annotations

import json

from django.http import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from sessions_app.domain.dialects import named
from sessions_app.models import Line, Message
from sessions_app.selectors.history import session_repairs
from sessions_app.selectors.timeline import session_outline
from sessions_app.web.findingcards import answers, finding_cards
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, load_session, page_number
from sessions_app.web.pager import numbered_pager, step_pager
from sessions_app.web.shell import session_shell

RAW_PER_PAGE = 50


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
def raw(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """The session row, and its messages as stored, a page at a time."""
    session = load_session(session_id)
    number = page_number(request.GET)
    kept: type[Line | Message] = Line if named(session.dialect).filed == Message.Table.LINE else Message
    stored = kept._default_manager.filter(session=session)
    total = stored.count()
    pages = max(1, -(-total // RAW_PER_PAGE))
    start = (number - 1) * RAW_PER_PAGE
    page = stored.order_by(*(() if kept is Line else ("table",)), "position")[start : start + RAW_PER_PAGE]
    context = session_shell(request, session_id, "raw") | {
        "row_text": json.dumps(session.stored_row, indent=2, ensure_ascii=False, default=repr),
        "messages_stored": [(row, str(row.value)[:20_000]) for row in page],
        "pager": step_pager(number, pages),
        "total": total,
    }
    return render(request, "sessions/raw.html", context)


@require_GET
@allowed(VIEW)
def details(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Facts, where the session is filed, and its removal."""
    return render(request, "sessions/details.html", session_shell(request, session_id, "details"))
