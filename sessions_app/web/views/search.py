"""Searching inside all conversations."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from sessions_app.selectors.searching import sessions_search
from sessions_app.web.http import VIEW, HtmxRequest, allowed, whole

TEXT_LIMIT = 200


def asked_text(request: HtmxRequest, name: str) -> str:
    return " ".join(request.GET.get(name, "").replace("\x00", "").split())[:TEXT_LIMIT]


@require_GET
@allowed(VIEW)
def search(request: HtmxRequest) -> HttpResponseBase:
    """Sessions that hold words or a phrase, with the first place of each; ``all`` reads all that is stored."""
    text = asked_text(request, "q")
    deep = "1" if request.GET.get("all") else ""
    found = sessions_search(text, whole(request.GET.get("from")) or 0, deep=bool(deep)) if text else None
    context = {"section": "sessions", "text": text, "found": found, "asked_deep": deep}
    return render(request, "sessions/search.html", context)
