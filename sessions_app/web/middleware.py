"""What every answer gets, whichever face made it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

from django.db import Error, close_old_connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from sessions_app.domain.patience import go_on
from sessions_app.services.refusals import own_database_trouble


def never_stored(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Transcripts stay out of every cache, a shared proxy's and that of a browser after signing out, unless a view says
    otherwise.

    Static files are answered before this is reached.
    """

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return answer


AT_ONCE = 1.0
"""Seconds: whoever was refused sooner has not waited yet."""


class BusyDatabase:
    """Suture's own database is locked by another process, or away: what only reads and was refused at once is asked
    once more, so that nobody waits twice; then, and for what writes, 503 in words."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        vars(request)["begun"] = monotonic()
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        go_on()  # SQLite was interrupted since the time is over
        if not own_database_trouble(error):
            return None
        close_old_connections()  # one that the server has ended is of no use any more
        match = request.resolver_match
        waited = monotonic() - vars(request)["begun"]
        if match is not None and request.method in ("GET", "HEAD") and waited < AT_ONCE:
            try:
                answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
                return answer
            except Error as again:
                if not own_database_trouble(again):
                    raise
                error = again
        return unavailable(request, own_database_trouble(error))


def failed(request: HttpRequest) -> HttpResponseBase:
    """The answer to what nobody caught (``handler500``), also where the database is away when who asks is looked up."""
    error = sys.exception()
    words = own_database_trouble(error) if error is not None else ""
    return unavailable(request, words) if words else server_error(request)


def unavailable(request: HttpRequest, words: str) -> HttpResponseBase:
    """503 in words. Nothing here asks the database."""
    response: HttpResponseBase
    if request.path.startswith("/api/"):
        document = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": words}
        response = JsonResponse(document, status=503, content_type="application/problem+json")
    else:
        response = HttpResponse(render_to_string("503.html", {"words": words}), status=503)
    response["Retry-After"] = "5"
    return response
