"""The list of sessions, and the box that finds anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.models import Source
from sessions_app.selectors.counts import matching
from sessions_app.selectors.filters import SessionFilter, Term
from sessions_app.selectors.savedviews import views_for
from sessions_app.selectors.sessions import (
    SessionPage,
    SessionRow,
    Tally,
    session_by_any_id,
    session_page,
    top_findings,
)
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.columns import COLUMNS, chosen_columns, column_heads, reader_columns
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, page_number, wants_partial
from sessions_app.web.listtabs import list_tabs
from sessions_app.web.pager import numbered_pager


@dataclass(frozen=True, slots=True)
class TallyItem:
    look: present.Look
    count: int
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """A condition in force, and the list without it."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class ListedFinding:
    severity: str
    summary: str
    url: str


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row with where it leads, and its worst findings."""

    row: SessionRow
    url: str
    top: tuple[ListedFinding, ...]


@dataclass(frozen=True, slots=True)
class Narrowest:
    """The condition whose removal shows most, offered where nothing matches."""

    words: str
    url: str
    count: int


@require_GET
@allowed(VIEW)
def sessions(request: HtmxRequest) -> HttpResponseBase:
    wanted = SessionFilter.from_query(request.GET, also=("page", "view"))
    found = session_page(wanted, page_number(request.GET))
    page = found.page
    query = wanted.to_query()
    terms = wanted.terms()
    tabs = list_tabs(wanted, views_for(request.user.pk), request.GET.get("view", ""))
    shown = chosen_columns(tabs.view.columns if tabs.view and tabs.tail else ()) or reader_columns(request)
    sentence = wanted.sentence()
    tail = f"?{query}" if query else ""
    context = {
        "section": "sessions",
        "tabs": tabs,
        "filter": wanted,
        "page": page,
        "table": {
            "rows": _rows(page.rows, query),
            "pager": numbered_pager(page, query + tabs.tail if query else tabs.tail.lstrip("&")),
            "columns": column_heads(wanted, shown, tabs.tail),
            "shown": shown,
            "sentence": sentence,
            "query": query,
        },
        "chooser": {"all": COLUMNS, "shown": shown, "next": request.path + tail},
        "terms": [Chip(term.words, f"?{term.without}{tabs.tail}") for term in terms],
        "sentence": sentence,
        "query": query,
        "bulk_url": reverse("sessions_app:bulk") + tail if request.user.has_perm(REPAIR) else "",
        "narrowest": _narrowest(terms) if not page.total else None,
    }
    if wants_partial(request, "session-list"):
        response = render(request, "sessions/list.html#session-list", context)
    else:
        shown_as = 422 if wanted.faults else 200
        response = render(request, "sessions/list.html", context | _form(wanted, found, tabs.tail), status=shown_as)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _rows(rows: Iterable[SessionRow], query: str) -> list[ListedRow]:
    back = {"list": query} if query else {}
    worst = top_findings([row.id for row in rows if row.blocked or row.at_risk])
    found = []
    for row in rows:
        url = reverse("sessions_app:session", args=[row.id])
        top = tuple(
            ListedFinding(item.severity, item.summary, url + address(back | {"at": item.at}, item.at))
            for item in worst.get(row.id, ())
        )
        found.append(ListedRow(row, url + address(back), top))
    return found


def _form(wanted: SessionFilter, found: SessionPage, tail: str) -> dict[str, object]:
    controls = wanted.controls()
    more = [control for control in controls if control.field.more]
    return {
        "controls": [control for control in controls if not control.field.more],
        "more_controls": more,
        "more_open": any(control.value for control in more),
        "tally": _tally(wanted, found.tally, tail),
        "nothing_at_all": not found.page.total and not wanted.restricts and not Source.objects.exists(),
    }


def _tally(wanted: SessionFilter, counted: Iterable[Tally], tail: str) -> list[TallyItem]:
    items = []
    for tally in counted:
        current = wanted["health"] == (tally.health,)
        query = wanted.to_query(health=None if current else (tally.health,))
        items.append(TallyItem(present.HEALTH[tally.health], tally.count, f"?{query}{tail}", current))
    return items


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
