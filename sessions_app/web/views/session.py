"""One session: its timeline, and the stored text of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from sessions_app.models import Repair, Session, Verdict
from sessions_app.selectors.counts import by_health
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.searching import session_search
from sessions_app.selectors.sessions import first_blocked
from sessions_app.selectors.timeline import Fault, Outline, Window, session_outline, timeline_window
from sessions_app.services.reading import session_refresh
from sessions_app.services.scanning import session_scan
from sessions_app.web.addresses import address
from sessions_app.web.http import (
    REPAIR,
    VIEW,
    HtmxRequest,
    allowed,
    back_to,
    clock,
    listed_in,
    load_session,
    wants_partial,
    whole,
)
from sessions_app.web.orders import ORDERS, order_context, order_segments
from sessions_app.web.outcome import Outcome, ignored_outcome, repair_outcome, repair_told
from sessions_app.web.shell import session_shell
from sessions_app.web.shown import Shown, shown_fault, shown_window
from sessions_app.web.transcript import PRINTED, markdown, piece
from sessions_app.web.turnindex import LISTED, MOST_LISTED, listed_turns
from sessions_app.web.views.search import asked_text
from sessions_app.web.waycards import WayBox, way_box

PAGE_PARTS = 80
"""Parts that the page, and what is added to it, shows at once."""
INLINE_PARTS = 1_000
"""Messages and parts up to which the ways to repair the fault that is shown come with the page."""
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
        context["orders"] = order_segments(session_id, context["session"].target, order, context["list_query"])
        return render(request, "sessions/order.html", context)
    if request.GET.get("print") == "1":
        return render(request, "sessions/print.html", _printed(request, session, table))
    if wants_partial(request, "earlier") or wants_partial(request, "later"):
        response = _chunk(request, session, table)
    elif wants_partial(request, "turn-lines"):
        turns = session_outline(session, table).turns
        start = whole(request.GET.get("from")) or 0
        lines = {"listed": listed_turns(turns, start, _most_listed(request))}
        context = {"shown": lines, "list_query": listed_in(request)}
        response = render(request, "sessions/_index.html#lines", context)
    else:
        refresh = session_refresh(session=session, now=clock())
        session.refresh_from_db()
        outline = session_outline(session, table)
        if wants_partial(request, "conversation"):
            response = _stepped(request, session, outline, table)
        else:
            page = _page(request, session, outline, refresh.problem, table)
            response = render(request, "sessions/timeline.html", page)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _chunk(request: HtmxRequest, session: Session, table: str) -> HttpResponse:
    """The turns above or below those on the page."""
    outline = session_outline(session, table)
    window, listed = _window(request, session, outline, None), listed_in(request)
    shown = shown_window(session, outline, window, table, listed, request.GET.get("seen", "")[:40])
    shown = replace(shown, later=None) if request.htmx.target == "earlier" else replace(shown, earlier=None)
    context = {"shown": shown, "list_query": listed}
    status = {"page": shown.page, "outline": outline, "list_query": listed, "oob": True}
    response = render(request, "sessions/_conversation.html#chunk", context)
    response.content += render_to_string("sessions/_window.html", status, request).encode()
    return response


def _stepped(request: HtmxRequest, session: Session, outline: Outline, table: str) -> HttpResponse:
    """What changes on the page from one fault to another. Where the session is not any more the one that the page
    shows, the browser loads it anew."""
    if request.headers.get("Suture-Seen") != outline.state:
        return HttpResponseClientRedirect(request.get_full_path())
    verdicts = Verdict.objects.filter(session=session).order_by("-own", "protocol")
    shown = _shown(request, session, outline, table, tuple(verdicts))
    context = {"shown": shown, "session": session, "list_query": listed_in(request), "may": _may(request)}
    return render(request, "sessions/step.html", context | {"box": _box(request, session, shown)})


def _box(request: HtmxRequest, session: Session, shown: Shown) -> WayBox | None:
    """The ways to repair the fault that is shown; None where they are fetched apart, or nothing is asked."""
    asked = session.message_count + session.part_count <= INLINE_PARTS or request.GET.get("ways") == "1"
    return way_box(session, shown.card.key, clock()) if shown.card and not shown.card.ignored and asked else None


def _shown(
    request: HtmxRequest, session: Session, outline: Outline, table: str, verdicts: Sequence[Verdict], at: str = ""
) -> Shown:
    """The window around a place, "" = that of the fault that is asked for."""
    fault = _current(request, outline)
    at = at or (fault.at if fault else "")
    window = _window(request, session, outline, outline.places.get(at, (0, None))[1])
    shown = shown_window(session, outline, window, table, listed_in(request))
    return shown_fault(shown, fault, at, verdicts, _most_listed(request))


def _most_listed(request: HtmxRequest) -> int:
    return MOST_LISTED if request.GET.get("index") == "all" else LISTED


def _may(request: HtmxRequest) -> bool:
    """Repair, and so ignore too."""
    return request.user.has_perm(REPAIR)


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
    finding = _found(request, session, outline)
    at = finding["at"] or request.GET.get("at", "")
    shown = _shown(request, session, outline, table, shell["detail"].verdicts, at)
    return shell | {
        "shown": shown,
        "outline": outline,
        "box": _box(request, session, shown),
        "may": _may(request),
        "orders": order_segments(session.pk, shell["session"].target, "", shell["list_query"]),
        "find": finding,
        "asked": bool(finding["at"] or request.GET.get("at") or request.GET.get("fault")),
        "not_here": request.GET.get("at", "") if at not in outline.places else "",
        "refresh_problem": problem,
        "history": table,
        "outcome": _outcome(request, session, outline),
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
        "text": text,
        "hits": hits,
        "hit": hit,
        "number": number,
        "before": number - 1 if number > 1 else len(hits),
        "at": hit.at if hit else "",
    }


def _outcome(request: HtmxRequest, session: Session, outline: Outline) -> Outcome | None:
    """What came of the action that was just taken, with what waits for a repair next: the next fault where the session
    is still blocked, else the next session of the list."""
    listed, made = listed_in(request), repair_told(request)
    back = request.path + address({"list": listed})
    if made is None:
        return ignored_outcome(request, session.pk, outline.faults, back)
    if made.state == Repair.State.APPLIED and session.health == "blocked":
        return repair_outcome(request, back=back, next_url=back, next_words="Next fault")
    wanted = SessionFilter.from_query(QueryDict(listed))
    left = by_health(wanted).get("blocked", 0)
    following = first_blocked(wanted, session.pk) if left else None
    if following is None:
        done = reverse("sessions_app:overview")
        return repair_outcome(request, back=back, next_url=done, next_words="Nothing else is blocked")
    next_url = reverse("sessions_app:session", args=[following]) + address({"list": listed})
    left -= session.health == "blocked"
    return repair_outcome(request, back=back, next_url=next_url, next_words=f"Next blocked session ({left:,} left)")


def _window(request: HtmxRequest, session: Session, outline: Outline, at: int | None) -> Window:
    if request.GET.get("all") == "1":
        return timeline_window(session, outline, since=0, limit=PRINT_PARTS)
    to, since = whole(request.GET.get("to")), whole(request.GET.get("from"))
    return timeline_window(session, outline, at=at, to=to, since=since, limit=PAGE_PARTS)


def _current(request: HtmxRequest, outline: Outline) -> Fault | None:
    """The fault that is asked for, the one at the place that is asked for, else the first that matters most."""
    faults = outline.faults
    number = whole(request.GET.get("fault"))
    if number and number <= len(faults):
        return faults[number - 1]
    at = request.GET.get("at", "")
    if at:
        return next((fault for fault in faults if at in fault.parts or at in fault.messages), None)
    minded = (fault for fault in outline.serious if not fault.ignored)
    return next(minded, next(iter(outline.serious), None))


@require_POST
@allowed(VIEW)
def scan(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Read the session again where its source is live, and scan it with today's rules."""
    session = load_session(session_id)
    session_refresh(session=session, now=clock(), force=True)
    session.refresh_from_db()
    session_scan(session=session, now=clock(), force=True)
    back = reverse("sessions_app:session", args=[session_id]) + address({"list": listed_in(request)})
    return back_to(request, back)
