"""What every answer gets, whichever face made it."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


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
