"""One session: its timeline, and the stored text of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET, require_POST

from sessions_app.models import Repair, Session
from sessions_app.selectors.searching import session_search
from sessions_app.selectors.sessions import sessions_by_stored_id
from sessions_app.selectors.timeline import Fault, Outline, Window, session_outline, timeline_window
from sessions_app.services.reading import session_refresh
from sessions_app.services.scanning import session_scan
from sessions_app.web.addresses import address
from sessions_app.web.findingcards import finding_cards
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, clock, load_session, wants_partial, whole
from sessions_app.web.orders import ORDERS, order_context, order_segments
from sessions_app.web.partcards import part_card
from sessions_app.web.rail import fault_rail
from sessions_app.web.shell import session_shell
from sessions_app.web.transcript import PRINTED, markdown, piece
from sessions_app.web.turnindex import listed_turns
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
        context["orders"] = order_segments(session_id, context["session"].target, order, context["list_query"])
        return render(request, "sessions/order.html", context)
    if request.GET.get("print") == "1":
        return render(request, "sessions/print.html", _printed(request, session, table))
    if wants_partial(request, "earlier") or wants_partial(request, "later"):
        outline = session_outline(session, table)
        window = _window(request, session, outline, None)
        direction = request.htmx.target
        context = _turns(session, outline, window, table)
        context["later" if direction == "earlier" else "earlier"] = None
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
    at = finding["at"] or request.GET.get("at", "") or (fault.at if fault else "")
    window = _window(request, session, outline, outline.places.get(at, (0, None))[1])
    return shell | _turns(session, outline, window, table, shell["list_query"], fault, at) | {
        "outline": outline,
        "listed": listed_turns(outline.turns, window.start),
        "rail": fault_rail(outline, window),
        "card": finding_cards([fault], shell["detail"].verdicts, outline.faults)[0] if fault else None,
        "steps": _steps(outline, fault),
        "orders": order_segments(session.pk, shell["session"].target, "", shell["list_query"]),
        "find": finding,
        "asked": bool(finding["at"] or request.GET.get("at") or request.GET.get("fault")),
        "not_here": request.GET.get("at", "") if at and at not in outline.places else "",
        "refresh_problem": problem,
        "history": table,
        "may_ignore": request.user.has_perm(REPAIR),
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
        "text": text,
        "hits": hits,
        "hit": hit,
        "number": number,
        "before": number - 1 if number > 1 else len(hits),
        "at": hit.at if hit else "",
    }


def _steps(outline: Outline, fault: Fault | None) -> dict[str, Any]:
    """Where the stepper goes from here. It steps through what is serious, or through the notes where a note is
    shown."""
    group = outline.notes if fault is not None and fault.note else outline.serious
    at = group.index(fault) if fault is not None else -1
    return {
        "fault": fault,
        "notes": len(outline.notes),
        "total": len(group),
        "number": at + 1,
        "previous": group[at - 1] if at > 0 else None,
        "next": group[at + 1] if at + 1 < len(group) else None,
        "blocking": next((item for item in group[at + 1 :] if item.severity == "blocked"), None),
    }


def _repaired(request: HtmxRequest, session: Session) -> Repair | None:
    """The repair that has just been applied, for its card with the undo."""
    wanted = request.GET.get("repaired", "")[:64]
    return Repair.objects.filter(session=session, public_id=wanted).first() if wanted else None


@dataclass(frozen=True, slots=True)
class Loader:
    """The link to the turns above or below those shown; htmx puts them in its place."""

    name: str
    key: str
    count: int
    url: str
    fetch: str
    trigger: str

    @property
    def keeps(self) -> bool:
        """What is looked at stays where it is."""
        return self.name == "earlier"

    @property
    def words(self) -> str:
        return f"Load {self.name} turns ({self.count:,} part{pluralize(self.count)} more)"


def _loaders(session: Session, window: Window, table: str, listed: str) -> dict[str, Loader | None]:
    stored = reverse("sessions_app:session", args=[session.pk])

    def loader(name: str, key: str, count: int, bound: dict[str, Any], trigger: str) -> Loader:
        url, fetch = address({**bound, "history": table, "list": listed}), address({**bound, "history": table})
        return Loader(name, key, count, url, stored + fetch, trigger)

    earlier = loader("earlier", "[", window.earlier, {"to": window.start}, "click")
    later = loader("later", "]", window.later, {"from": window.end}, "click, intersect once")
    return {"earlier": earlier if window.start else None, "later": later if window.later else None}


def _turns(
    session: Session,
    outline: Outline,
    window: Window,
    table: str,
    listed: str = "",
    fault: Fault | None = None,
    at: str = "",
) -> dict[str, Any]:
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
        "shown": {
            "at": at,
            "fault": fault,
            "start": window.start,
            "agents": sessions_by_stored_id(session.source_id, named),
        },
        **_loaders(session, window, table, listed),
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
