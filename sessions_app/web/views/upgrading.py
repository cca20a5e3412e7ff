"""What the upgrade to 2.x would do to a store's sessions."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from sessions_app.models import Session, Source
from sessions_app.services.upgrading import NOT_MEASURED, source_upgrade
from sessions_app.stores.base import StoreError
from sessions_app.web.http import VIEW, HtmxRequest, allowed, clock, page_number, page_rows
from sessions_app.web.pager import step_pager

_PER_PAGE = 50


@require_GET
@allowed(VIEW)
def upgrade(request: HtmxRequest, source_id: int) -> HttpResponseBase:
    """A page of sessions, the last used first, each as it would be taken over."""
    source = Source.objects.filter(pk=source_id).first()
    if source is None:
        raise Http404("There is no such store here. It may have been deleted.")
    stored = Session.objects.filter(source=source, missing_since=None).order_by("-time_updated", "-id")
    number = page_number(request.GET)
    rows, pages = page_rows(stored.only("id", "stored_id", "title"), number, _PER_PAGE)
    context: dict[str, Any] = {"section": "sources", "source": source, "note": NOT_MEASURED}
    context["pager"] = step_pager(number, pages, label="Pages of sessions")
    try:
        found = source_upgrade(source=source, session_ids=[row.stored_id for row in rows], now=clock())
        context["checked"] = list(zip(rows, found, strict=True))
    except StoreError as problem:
        context["problem"] = f"{problem.words} {problem.next_step}".strip()
    return render(request, "sources/upgrade.html", context)
