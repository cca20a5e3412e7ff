"""No request holds a thread for long: what it computes has ``SUTURE_REQUEST_SECONDS``, then it is refused in words.

What arrives is waited for; of an answer that is streamed, each piece has as long. Writes, once begun, are finished.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any, cast

from django.conf import settings
from django.db import OperationalError, connection
from django.http import FileResponse, HttpRequest, HttpResponseBase, StreamingHttpResponse

from sessions_app.domain.patience import OutOfTime, go_on, limited, over
from sessions_app.services.refusals import out_of_time_words
from sessions_app.uploads import DEADLINE

from .middleware import unavailable

_BETWEEN = 100_000
"""Steps of SQLite, a few milliseconds, between two looks at the limit."""


class Deadline:
    """A limit of time that begins now; over when it is asked too late."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.restart()

    def restart(self) -> None:
        """A piece of the request has arrived: only what comes after the last one counts."""
        self._end = monotonic() + self.seconds

    def __call__(self) -> bool:
        return monotonic() > self._end


def in_time(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        deadline = Deadline(settings.SUTURE_REQUEST_SECONDS)
        setattr(request, DEADLINE, deadline)
        try:
            with limited(deadline), connection.execute_wrapper(_looking):
                response = get_response(request)
        except OutOfTime:
            return unavailable(request, out_of_time_words(deadline.seconds))
        if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
            response.streaming_content = _pieces(cast("Iterable[bytes]", response.streaming_content), deadline)
        return response

    return answer


def _looking(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Every statement looks at the limit, SQLite's also while they run."""
    go_on()
    raw = context["connection"].connection
    if isinstance(raw, sqlite3.Connection):
        raw.set_progress_handler(over, _BETWEEN)
    try:
        return execute(sql, params, many, context)
    except OperationalError:
        go_on()
        raise


def _pieces(content: Iterable[bytes], deadline: Deadline) -> Iterator[bytes]:
    """The status has been sent: who reads sees the answer end too early, as when a server stops."""
    pieces = iter(content)
    while True:
        deadline.restart()
        try:
            with limited(deadline):
                piece = next(pieces, None)
        except OutOfTime as stopped:
            raise TimeoutError(out_of_time_words(deadline.seconds)) from stopped
        if piece is None:
            return
        yield piece
