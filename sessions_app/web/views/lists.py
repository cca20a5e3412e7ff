"""The list of sessions, the session beside it, and the box that finds anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.models import Source
from sessions_app.selectors.counts import by_health, matching, safely
from sessions_app.selectors.filters import SessionFilter, Term
from sessions_app.selectors.savedviews import views_for
from sessions_app.selectors.sessions import (
    SessionPage,
    first_blocked,
    session_by_any_id,
    session_page,
)
from sessions_app.web.chips import Chip
from sessions_app.web.columns import COLUMNS, chosen_columns, column_heads, reader_columns, sorted_shown
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, page_number, wants_partial, whole
from sessions_app.web.listrows import listed_rows
from sessions_app.web.listtabs import list_tabs
from sessions_app.web.news import news, seen
from sessions_app.web.outcome import Outcome, repair_outcome
from sessions_app.web.pager import numbered_pager
from sessions_app.web.peek import peek
from sessions_app.web.pills import health_pills
from sessions_app.web.present import counted


@dataclass(frozen=True, slots=True)
class Narrowest:
    """The condition whose removal shows most, offered where nothing matches."""

    words: str
    url: str
    count: int


@require_GET
@allowed(VIEW)
def sessions(request: HtmxRequest) -> HttpResponseBase:
    wanted = SessionFilter.from_query(request.GET, also=("page", "view", "peek", "outcome"))
    empty = [name for name in request.GET if not "".join(request.GET.getlist(name))]
    if empty and not request.htmx and not wanted.faults:
        return redirect(_without(request.GET, empty))
    found = session_page(wanted, page_number(request.GET))
    tabs = list_tabs(wanted, views_for(request.user.pk), request.GET.get("view", ""))
    context = _list(request, wanted, found, tabs.tail) | {"view": tabs.view}
    chosen = chosen_columns(tabs.view.columns if tabs.view and tabs.tail else ()) or reader_columns(request)
    shown = sorted_shown(chosen, wanted)
    context["table"] |= {"columns": column_heads(wanted, shown, tabs.tail), "shown": shown}
    columns = {"all": COLUMNS, "shown": shown, "next": request.get_full_path()}
    context["head"] |= {"tabs": tabs, "columns": columns}
    if wants_partial(request, "peek"):
        response = render(request, "sessions/list.html#peek", context)
    elif wants_partial(request, "session-list"):
        beside = {"head": context["head"], "terms": context["terms"], "oob": True}
        head = render_to_string("sessions/_list_head.html", beside, request)
        chips = render_to_string("sessions/_list_chips.html", beside, request)
        response = render(request, "sessions/list.html#session-list", context)
        response.content += (head + chips).encode()
        address = _without(request.GET, empty)
        if address != request.htmx.current_url_abs_path:
            response["HX-Push-Url"] = address
    else:
        response = render(request, "sessions/list.html", context, status=422 if wanted.faults else 200)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_GET
@allowed(VIEW)
def list_news(request: HtmxRequest) -> HttpResponseBase:
    """What became new in a list that was left open: 204 where nothing did, else its line and the counts of the pills.
    ``told`` is what its line says already."""
    own = ("page", "view", "peek", "outcome", "seen", "told")
    wanted = SessionFilter.from_query(request.GET, also=own)
    found = session_page(wanted, page_number(request.GET))
    before = request.GET.get("seen", "")[:4000]
    words = news(before, found)
    if words == request.GET.get("told", ""):
        return HttpResponse(status=204)
    asked = request.GET.copy()
    for name in ("seen", "told", "outcome"):
        asked.pop(name, None)
    tail = list_tabs(wanted, views_for(request.user.pk), request.GET.get("view", "")).tail
    context = {
        "news": {"words": words, "seen": before, "query": asked.urlencode()},
        "head": _pills(wanted, {one.health: one.count for one in found.tally}, tail),
    }
    return render(request, "sessions/_news.html", context | {"oob": True})


def _pills(wanted: SessionFilter, tally: Mapping[str, int], tail: str) -> dict[str, Any]:
    """The counts beside the heading."""
    return {
        "pills": health_pills(tally, reverse("sessions_app:sessions"), wanted, tail),
        "all": {
            "count": sum(tally.values()),
            "url": f"{reverse('sessions_app:sessions')}?{wanted.to_query(health=None)}{tail}",
            "current": not wanted["health"],
        },
    }


def _without(given: QueryDict, names: list[str]) -> str:
    """The list's address with these left out of what was asked for."""
    kept = given.copy()
    for name in names:
        del kept[name]
    query = kept.urlencode()
    return reverse("sessions_app:sessions") + (f"?{query}" if query else "")


def _list(request: HtmxRequest, wanted: SessionFilter, found: SessionPage, tail: str) -> dict[str, Any]:
    page, query = found.page, wanted.to_query()
    terms = wanted.terms()
    base = (query + tail).lstrip("&")
    paged = base + (f"&page={page.number}" if page.number > 1 else "")

    def peek_at(session_id: int) -> str:
        return f"?{paged}&peek={session_id}".replace("?&", "?")

    chosen = whole(request.GET.get("peek"))
    tally = {one.health: one.count for one in found.tally}
    beside = peek(chosen, [row.id for row in page.rows], query, peek_at) if chosen is not None else None
    controls = wanted.controls()
    return {
        "section": "sessions",
        "filter": wanted,
        "said_url": f"?{wanted.to_query(q=None, said=wanted['q'])}" if wanted["q"] else "",
        "page": page,
        "head": _pills(wanted, tally, tail)
        | {"query": query, "bulk": _bulk(wanted, found, query) if request.user.has_perm(REPAIR) else None},
        "news": {"words": "", "seen": seen(found), "query": paged},
        "controls": controls,
        "terms": [Chip(term.words, f"?{term.without}{tail}") for term in terms if term.name not in ("health", "q")],
        "narrowest": _narrowest(terms) if not page.total else None,
        "may_repair": request.user.has_perm(REPAIR),
        "nothing_at_all": not page.total and not wanted.restricts and not Source.objects.exists(),
        "peek": beside,
        "here": f"?{paged}",
        "outcome": _outcome(request, wanted, paged, chosen),
        "table": {
            "rows": listed_rows(page.rows, query, peek_at, chosen),
            "pager": numbered_pager(page, base),
            "sentence": wanted.sentence(terms),
            "query": query,
        },
    }


def _bulk(wanted: SessionFilter, found: SessionPage, query: str) -> Mapping[str, Any] | None:
    """The way to the bulk page of this list, with how many of it are repaired safely; None of an empty one."""
    if not found.page.total:
        return None
    safe = safely(wanted)
    words = "Repair these safely…" if safe is None else f"Repair {safe:,} safely…"
    return {"url": reverse("sessions_app:bulk") + (f"?{query}" if query else ""), "words": words}


def _outcome(request: HtmxRequest, wanted: SessionFilter, paged: str, chosen: int | None) -> Outcome | None:
    if not request.GET.get("outcome"):
        return None
    left = by_health(wanted).get("blocked", 0)
    following = first_blocked(wanted, chosen) if left else None
    url = f"?{paged}&peek={following}".replace("?&", "?") if following else ""
    back = f"{request.path}?{paged}" + (f"&peek={chosen}" if chosen else "")
    return repair_outcome(
        request, back=back, next_url=url, next_words=f"Next blocked ({counted(left, 'session')} left)"
    )


def _narrowest(terms: tuple[Term, ...]) -> Narrowest | None:
    """As many counts as there are terms, a dozen at most."""
    left = {term: matching(SessionFilter.from_query(QueryDict(term.without))) for term in terms}
    found = [Narrowest(term.words, f"?{term.without}", count) for term, count in left.items()]
    return max(found, key=lambda item: item.count, default=None)


@require_GET
@allowed(VIEW)
def jump(request: HtmxRequest) -> HttpResponse:
    """An exact id goes straight to its place; an id that several sessions hold lists them; other words search."""
    text = request.GET.get("q", "").strip().replace("\x00", "")[:500]
    if not text:
        return redirect("sessions_app:sessions")
    places = session_by_any_id(text)
    if len({place.session for place in places}) == 1:
        place = places[0]
        url = reverse("sessions_app:session", args=[place.session])
        return redirect(f"{url}?{urlencode({'at': place.at})}" if place.at else url)
    name = "holds" if places else "q"
    return redirect(f"{reverse('sessions_app:sessions')}?{urlencode({name: text})}")
