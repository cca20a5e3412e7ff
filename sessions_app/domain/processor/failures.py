"""Failures out of exceptions, and as rows hold them (docs/contract/formats.md#a3, #b2)."""

from __future__ import annotations

from typing import Any

from .events import Failure, StreamFailed
from .retry import retryable

ABORT = Failure("aborted", "Aborted")
CUT = Failure("cut", "The provider's stream ended before the response was finished.")


def failure_of(problem: BaseException) -> Failure:
    """What an exception of a stream means; an unknown one is not retried."""
    if isinstance(problem, StreamFailed):
        return problem.failure
    words = str(problem) or type(problem).__name__
    if isinstance(problem, TimeoutError):
        return Failure("timeout", words)
    if isinstance(problem, (ConnectionError, EOFError)):
        return Failure("connection", words)
    return Failure("unknown", words)


def v1_error(failure: Failure, provider: str) -> dict[str, Any]:
    """The error object of a V1 assistant row."""
    if failure.kind == "aborted":
        return _named("MessageAbortedError", {"message": failure.message})
    if failure.kind == "auth":
        return _named("ProviderAuthError", {"providerID": provider, "message": failure.message})
    if failure.kind == "overflow":
        return _named("ContextOverflowError", {"message": failure.message} | _body(failure))
    if failure.kind in ("unknown", "tool"):
        return _named("UnknownError", {"message": failure.message})
    data: dict[str, Any] = {"message": failure.message}
    if failure.status is not None:
        data["statusCode"] = failure.status
    data["isRetryable"] = retryable(failure)
    if failure.headers:
        data["responseHeaders"] = dict(failure.headers)
    return _named("APIError", data | _body(failure))


def v2_error(failure: Failure) -> dict[str, Any]:
    """The error object of a V2 assistant row of generation 2 or 3."""
    error: dict[str, Any] = {"type": failure.code or failure.kind, "message": failure.message}
    if failure.status is not None:
        error["status"] = failure.status
    return error


def _named(name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "data": data}


def _body(failure: Failure) -> dict[str, Any]:
    return {"responseBody": failure.body} if failure.body else {}
