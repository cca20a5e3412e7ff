"""What every answer gets, whichever face made it."""

from __future__ import annotations

from collections.abc import Callable

from django.db import OperationalError
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import render

from sessions_app.services.refusals import BUSY_WORDS, own_database_busy


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


class BusyDatabase:
    """Suture's own database is locked by another process: what only reads is asked once more; then, and for what
    writes, 503 in words."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        if not own_database_busy(error):
            return None
        match = request.resolver_match
        if match is not None and request.method in ("GET", "HEAD"):
            try:
                answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
                return answer
            except OperationalError as again:
                if not own_database_busy(again):
                    raise
        return _busy(request)


def _busy(request: HttpRequest) -> HttpResponseBase:
    response: HttpResponseBase
    if request.path.startswith("/api/"):
        document = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": BUSY_WORDS}
        response = JsonResponse(document, status=503, content_type="application/problem+json")
    else:
        response = render(request, "503.html", {"words": BUSY_WORDS}, status=503)
    response["Retry-After"] = "5"
    return response
