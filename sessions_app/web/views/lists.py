"""The list of sessions, and the box that finds anything."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.models import Source
from sessions_app.selectors.filters import SessionFilter, Term
from sessions_app.selectors.savedviews import views_for
from sessions_app.selectors.sessions import (
    session_by_any_id,
    session_page,
    session_query,
    session_tally,
    top_findings,
)
from sessions_app.web import present
from sessions_app.web.columns import COLUMNS, chosen_columns, column_heads, reader_columns
from sessions_app.web.http import VIEW, HtmxRequest, allowed, page_number, wants_partial
from sessions_app.web.listtabs import list_tabs


@dataclass(frozen=True, slots=True)
class TallyItem:
    look: present.Look
    count: int
    query: str
    current: bool


@dataclass(frozen=True, slots=True)
class Narrowest:
    """The condition whose removal shows most, offered where nothing matches."""

    words: str
    without: str
    count: int


@require_GET
@allowed(VIEW)
def sessions(request: HtmxRequest) -> HttpResponseBase:
    wanted = SessionFilter.from_query(request.GET, also=("page", "view"))
    page = session_page(wanted, page_number(request.GET))
    query = wanted.to_query()
    terms = wanted.terms()
    tabs = list_tabs(wanted, views_for(request.user.pk), request.GET.get("view", ""))
    shown = chosen_columns(tabs.view.columns if tabs.view and tabs.tail else ()) or reader_columns(request)
    context = {
        "tabs": tabs,
        "tail": tabs.tail,
        "shown": shown,
        "top_findings": top_findings([row.id for row in page.rows if row.blocked or row.at_risk]),
        "base": query + tabs.tail if query else tabs.tail.lstrip("&"),
        "section": "sessions",
        "filter": wanted,
        "page": page,
        "columns": column_heads(wanted, shown, tabs.tail),
        "all_columns": COLUMNS,
        "terms": terms,
        "sentence": wanted.sentence(),
        "query": query,
        "back": urlencode({"list": query}) if query else "",
        "narrowest": _narrowest(terms) if not page.total else None,
    }
    if wants_partial(request, "session-list"):
        response = render(request, "sessions/list.html#session-list", context)
    else:
        response = render(request, "sessions/list.html", context | _form(wanted, page.total))
    patch_vary_headers(response, ["HX-Request"])
    return response


def _form(wanted: SessionFilter, total: int) -> dict[str, object]:
    controls = wanted.controls()
    more = [control for control in controls if control.field.more]
    return {
        "controls": [control for control in controls if not control.field.more],
        "more_controls": more,
        "more_open": any(control.value for control in more),
        "tally": _tally(wanted),
        "nothing_at_all": not total and not wanted.restricts and not Source.objects.exists(),
    }


def _tally(wanted: SessionFilter) -> list[TallyItem]:
    items = []
    for tally in session_tally(wanted):
        current = wanted["health"] == (tally.health,)
        query = wanted.to_query(health=None if current else (tally.health,))
        items.append(TallyItem(present.HEALTH[tally.health], tally.count, query, current))
    return items


def _narrowest(terms: tuple[Term, ...]) -> Narrowest | None:
    """Counting is capped by the number of terms, a dozen at most."""
    found = [Narrowest(term.words, term.without, _count(term.without)) for term in terms]
    return max(found, key=lambda item: item.count, default=None)


def _count(query: str) -> int:
    return session_query(SessionFilter.from_query(QueryDict(query))).order_by()[:10_000].count()


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
