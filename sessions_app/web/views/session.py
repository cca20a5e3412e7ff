"""One session: its timeline, and the stored text of its parts."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from sessions_app.models import Repair, Session
from sessions_app.selectors.searching import session_search
from sessions_app.selectors.sessions import sessions_by_stored_id
from sessions_app.selectors.timeline import Fault, Outline, Window, session_outline, timeline_window
from sessions_app.services.reading import session_refresh
from sessions_app.services.scanning import session_scan
from sessions_app.web.findingcards import finding_cards
from sessions_app.web.http import VIEW, HtmxRequest, allowed, clock, load_session, wants_partial, whole
from sessions_app.web.orders import ORDERS, order_context
from sessions_app.web.partcards import part_card
from sessions_app.web.rail import fault_rail
from sessions_app.web.shell import session_shell
from sessions_app.web.transcript import PRINTED, markdown, piece
from sessions_app.web.views.search import asked_text

PRINT_PARTS = 2_000
"""Parts that ``?all=1`` shows at once, for find and print."""


@require_GET
@allowed(VIEW)
def timeline(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """The timeline around a fault, an id or a part index. Chunks that htmx asks for are the same view's partial."""
    session = load_session(session_id)
    table = request.GET.get("history", "")
    order = request.GET.get("order", "")
    if order in ORDERS:
        context = session_shell(request, session_id, "session") | order_context(request, session, order, clock())
        return render(request, "sessions/order.html", context)
    if request.GET.get("print") == "1":
        return render(request, "sessions/print.html", _printed(request, session, table))
    if wants_partial(request, "earlier") or wants_partial(request, "later"):
        outline = session_outline(session, table)
        window = _window(request, session, outline, None)
        direction = request.htmx.target
        context = _turns(session, outline, window) | {
            "direction": direction,
            "session_id": session_id,
            "history": table,
        }
        response = render(request, "sessions/timeline.html#chunk", context)
    else:
        refresh = session_refresh(session=session, now=clock())
        session.refresh_from_db()
        outline = session_outline(session, table)
        response = render(request, "sessions/timeline.html", _page(request, session, outline, refresh.problem, table))
    patch_vary_headers(response, ["HX-Request"])
    return response


def _printed(request: HtmxRequest, session: Session, table: str) -> dict[str, Any]:
    """The turns asked for (``from``), else all, with every text open up to a limit."""
    outline = session_outline(session, table)
    window = timeline_window(session, outline, since=whole(request.GET.get("from")) or 0, limit=PRINT_PARTS)
    printed = [
        (
            turn,
            [(message, [piece(row, message.kind, PRINTED) for row in message.parts]) for message in turn.messages],
        )
        for turn in window.turns
    ]
    shell = session_shell(request, session.pk, "session")
    return shell | {"outline": outline, "window": window, "printed": printed}


@require_GET
@allowed(VIEW)
def as_markdown(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """The whole timeline as a Markdown file."""
    session = load_session(session_id)
    detail = session_shell(request, session_id, "session")["detail"]
    outline = session_outline(session, request.GET.get("history", ""))
    pieces = (text.encode("utf-8", "replace") for text in markdown(session, detail, outline))
    response = StreamingHttpResponse(pieces, content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="session-{session_id}.md"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _page(request: HtmxRequest, session: Session, outline: Outline, problem: str, table: str) -> dict[str, Any]:
    shell = session_shell(request, session.pk, "session")
    fault = _current(request, outline)
    finding = _found(request, session, outline)
    at = finding["find_at"] or request.GET.get("at", "") or (fault.at if fault else "")
    window = _window(request, session, outline, outline.places.get(at, (0, None))[1])
    return shell | finding | _turns(session, outline, window) | {
        "outline": outline,
        "rail": fault_rail(outline, window),
        "fault": fault,
        "card": finding_cards([fault], shell["detail"].verdicts, outline.faults)[0] if fault else None,
        **_steps(outline, fault),
        "at": at,
        "asked": bool(finding["find_at"] or request.GET.get("at") or request.GET.get("fault")),
        "not_here": request.GET.get("at", "") if at and at not in outline.places else "",
        "refresh_problem": problem,
        "session_id": session.pk,
        "history": table,
        "whole": request.GET.get("all") == "1",
        "repaired": _repaired(request, session),
    }  # fmt: skip


def _found(request: HtmxRequest, session: Session, outline: Outline) -> dict[str, Any]:
    """Where the text that is searched for stands: the place asked for by number, by id, else the first."""
    text = asked_text(request, "find")
    hits = session_search(session, outline, text) if text else ()
    asked, at = whole(request.GET.get("match")), request.GET.get("at", "")
    if asked and text == request.GET.get("was", text):
        number = (asked - 1) % len(hits) + 1 if hits else 0
    else:
        number = next((place for place, hit in enumerate(hits, 1) if hit.at == at), min(1, len(hits)))
    hit = hits[number - 1] if number else None
    return {
        "find": text,
        "hits": hits,
        "hit": hit,
        "hit_number": number,
        "find_at": hit.at if hit else "",
        "find_query": urlencode({"find": text}),
    }


def _steps(outline: Outline, fault: Fault | None) -> dict[str, Any]:
    """Where the stepper goes from here. It steps through what is serious, or through the notes where a note is
    shown."""
    group = outline.notes if fault is not None and fault.note else outline.serious
    at = group.index(fault) if fault is not None else -1
    return {
        "group_total": len(group),
        "group_number": at + 1,
        "previous_fault": group[at - 1] if at > 0 else None,
        "next_fault": group[at + 1] if at + 1 < len(group) else None,
        "next_blocking": next((item for item in group[at + 1 :] if item.severity == "blocked"), None),
    }


def _repaired(request: HtmxRequest, session: Session) -> Repair | None:
    """The repair that has just been applied, for its card with the undo."""
    wanted = request.GET.get("repaired", "")[:64]
    return Repair.objects.filter(session=session, public_id=wanted).first() if wanted else None


def _turns(session: Session, outline: Outline, window: Window) -> dict[str, Any]:
    cards = [
        (
            turn,
            [(message, [part_card(row, message.kind) for row in message.parts]) for message in turn.messages],
        )
        for turn in window.turns
    ]
    named = {card.child for _, messages in cards for _, parts in messages for card in parts if card.child}
    return {
        "turns": cards,
        "window": window,
        "turn_total": len(outline.turns),
        "agents": sessions_by_stored_id(session.source_id, named),
    }


def _window(request: HtmxRequest, session: Session, outline: Outline, at: int | None) -> Window:
    if request.GET.get("all") == "1":
        return timeline_window(session, outline, since=0, limit=PRINT_PARTS)
    return timeline_window(
        session, outline, at=at, to=whole(request.GET.get("to")), since=whole(request.GET.get("from"))
    )


def _current(request: HtmxRequest, outline: Outline) -> Fault | None:
    """The fault that is asked for, the one at the place that is asked for, else the first that matters most."""
    faults = outline.faults
    number = whole(request.GET.get("fault"))
    if number and number <= len(faults):
        return faults[number - 1]
    at = request.GET.get("at", "")
    if at:
        return next((fault for fault in faults if at in fault.parts or at in fault.messages), None)
    wanted = (
        fault
        for severity in ("blocked", "at-risk")
        for placed in (True, False)
        for fault in faults
        if fault.severity == severity and bool(fault.at) == placed
    )
    return next(wanted, None)


@require_POST
@allowed(VIEW)
def scan(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Read the session again where its source is live, and scan it with today's rules."""
    session = load_session(session_id)
    session_refresh(session=session, now=clock())
    session.refresh_from_db()
    session_scan(session=session, now=clock(), force=True)
    return redirect("sessions_app:session", session_id)
