"""What the SDKs' exceptions mean, as failures that the retry policy understands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from sessions_app.domain.processor.events import Failure, FailureKind, StreamFailed
from sessions_app.domain.processor.failures import failure_of

_OVERFLOW: Final = re.compile(
    r"prompt is too long|context_length_exceeded|maximum context length|context window|input is too long"
    r"|exceeds the (?:maximum|model's) (?:context|number of tokens)|request_too_large",
    re.I,
)
_KEPT: Final = frozenset(
    {"retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id", "date", "content-type"}
)
"""Headers worth keeping with an error; others may name accounts or hold cookies."""
_TRANSPORT: Final = {
    "DecodingError": "decompression",
    "TimeoutException": "timeout",
    "RemoteProtocolError": "cut",
    "TransportError": "connection",
}
"""Exceptions of the HTTP library under the SDKs, by name: which library it is differs by version."""
_LONGEST_BODY = 4_000


def failure_from(problem: BaseException) -> Failure:
    """The failure that an SDK (or the HTTP library under it) reports by raising ``problem``."""
    if isinstance(problem, StreamFailed):
        return problem.failure
    below = problem.__cause__ or problem.__context__
    transport = _transport(problem) or (_transport(below) if below is not None else None)
    if transport is not None:
        return Failure(transport, _words(below if below is not None and _transport(below) else problem))
    names = {kind.__name__ for kind in type(problem).__mro__}
    if "APITimeoutError" in names:
        return Failure("timeout", _words(problem))
    if "APIConnectionError" in names:
        return Failure("connection", _words(below or problem))
    if "APIError" in names:
        return _answered(problem)
    if isinstance(problem, (json.JSONDecodeError, UnicodeDecodeError)):
        return Failure("cut", "The provider's stream holds something that is not JSON.")
    return failure_of(problem)


def failure_in(error: Any, status: int | None = None, headers: Mapping[str, str] | None = None) -> Failure:
    """The failure that an error object of a body or a stream tells: ``{"type", "code"?, "message"}``, plain text, or
    anything."""
    told = error if isinstance(error, dict) else {"message": error if isinstance(error, str) else json.dumps(error)}
    inner = told.get("error")
    if isinstance(inner, dict):
        told = inner
    kind = _text(told.get("type"))
    code = _text(told.get("code"))
    message = _text(told.get("message")) or _text(told.get("detail")) or json.dumps(told)
    words = f"{kind} {code} {message}"
    known = {name.lower(): value for name, value in (headers or {}).items() if name.lower() in _KEPT}
    return Failure(
        kind=_kind(words, status, kind),
        message=message,
        status=status,
        code=code if code and code != str(status) and not code.isdigit() else kind,
        retryable=_marked(known),
        headers=known,
    )


def _answered(problem: BaseException) -> Failure:
    response = getattr(problem, "response", None)
    status = getattr(problem, "status_code", None)
    headers = dict(response.headers) if response is not None else {}
    body = getattr(problem, "body", None)
    failure = failure_in(body if body is not None else str(problem), status, headers)
    text = body if isinstance(body, str) else json.dumps(body) if body is not None else ""
    return Failure(
        failure.kind,
        failure.message,
        failure.status,
        failure.code,
        failure.retryable,
        failure.headers,
        text[:_LONGEST_BODY],
    )


def _kind(words: str, status: int | None, kind: str) -> FailureKind:
    if _OVERFLOW.search(words) or status == 413:
        return "overflow"
    if status in (401, 403) or kind in ("authentication_error", "permission_error"):
        return "auth"
    return "api"


def _marked(headers: Mapping[str, str]) -> bool | None:
    mark = headers.get("x-should-retry", "").lower()
    return {"true": True, "false": False}.get(mark)


def _transport(problem: BaseException) -> FailureKind | None:
    for kind in type(problem).__mro__:
        found = _TRANSPORT.get(kind.__name__)
        if found is not None:
            return found  # type: ignore[return-value]
    return None


def _words(problem: BaseException) -> str:
    return str(problem) or type(problem).__name__


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
