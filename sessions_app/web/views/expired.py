"""A form whose token is too old: what was typed is kept, and offered to be sent again with a fresh one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

_OWN = ("csrfmiddlewaretoken",)
SEND_AGAIN = "X-Send-Again"
"""Says to scripts that the answer is a page to be shown."""


def expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Nothing was done. Only a form of this site is offered again: one that another site sent would be that site's
    words behind a button of ours."""
    fields = [(name, value) for name in request.POST if name not in _OWN for value in request.POST.getlist(name)]
    secret = any("password" in name for name, _ in fields)
    kept = _from_here(request) and not request.FILES and not secret
    context = {
        "section": "",
        "action": request.get_full_path() if kept else "",
        "fields": fields if kept else [],
        "typed": [value for name, value in fields if kept and name in _TYPED and value.strip()],
    }
    response = render(request, "403_csrf.html", context, status=403)
    response[SEND_AGAIN] = "yes"
    return response


_TYPED = ("error", "session", "path", "name", "reason", "directory", "from", "to", "input")
"""Fields that people type into; the others a page fills in."""


def _from_here(request: HttpRequest) -> bool:
    """The browser says that a page of this site sent it."""
    site = request.headers.get("Sec-Fetch-Site", "")
    return (
        site == "same-origin"
        if site
        else request.headers.get("Origin", "") == f"{request.scheme}://{request.get_host()}"
    )
