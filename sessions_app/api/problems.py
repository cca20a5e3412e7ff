"""Errors as problem documents (RFC 9457): ``application/problem+json`` with type, title, status, detail."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError

from sessions_app.domain.wish import WishError

logger = logging.getLogger(__name__)

PROBLEM = "application/problem+json"
UNKNOWN_CALLER = (
    "Send a valid token as Authorization: Bearer TOKEN (suture token create makes one, suture serve prints one), "
    "or sign in to the dashboard."
)


class Problem(Exception):
    """What a caller did or met that has an answer: a status, words, and facts beside them."""

    def __init__(self, status: int, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.facts = facts


class ProblemOut(Schema):
    """Every error of the API."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


def problem(status: int, detail: str, facts: Mapping[str, Any] | None = None) -> HttpResponse:
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    response = JsonResponse({**(facts or {}), **document}, status=status, content_type=PROBLEM)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    return response


def install(api: NinjaAPI) -> None:
    """Let every error of ``api`` come out as a problem."""

    @api.exception_handler(Problem)
    def _problem(request: HttpRequest, error: Problem) -> HttpResponse:
        return problem(error.status, error.detail, error.facts)

    @api.exception_handler(HttpError)
    def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
        words = UNKNOWN_CALLER if error.status_code == HTTPStatus.UNAUTHORIZED else error.message
        return problem(error.status_code, words)

    @api.exception_handler(ValidationError)
    def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
        places = [{"at": _place(fault["loc"]), "what": fault["msg"]} for fault in error.errors]
        return problem(422, "; ".join(f"{fault['at']}: {fault['what']}" for fault in places), {"errors": places})

    @api.exception_handler(WishError)
    def _unknown_name(request: HttpRequest, error: WishError) -> HttpResponse:
        return problem(422, str(error))

    @api.exception_handler(OperationalError)
    def _locked(request: HttpRequest, error: OperationalError) -> HttpResponse:
        logger.warning("the database could not be used: %s", error)
        response = problem(503, "Suture's own database is busy or cannot be reached just now; try again in a moment.")
        response["Retry-After"] = "2"
        return response

    @api.exception_handler(RequestDataTooBig)
    def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
        return problem(413, "The body is larger than this server takes; SUTURE_FORM_LIMIT raises the limit.")

    @api.exception_handler(MultiPartParserError)
    @api.exception_handler(SuspiciousOperation)
    def _malformed(request: HttpRequest, error: Exception) -> HttpResponse:
        return problem(400, str(error))

    @api.exception_handler(Http404)
    def _missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return problem(404, str(error) or "There is nothing here.")

    @api.exception_handler(PermissionDenied)
    def _denied(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
        return problem(403, str(error) or "You may not do this.")

    @api.exception_handler(Exception)
    def _fault(request: HttpRequest, error: Exception) -> HttpResponse:
        logger.error("unforeseen fault in %s %s", request.method, request.path, exc_info=error)
        return problem(500, "Something went wrong here; the log tells more.")


def _place(loc: tuple[str | int, ...]) -> str:
    """``query/health/0``: a schema of parameters repeats the word for where they are."""
    return "/".join(str(word) for index, word in enumerate(loc) if index == 0 or word != loc[index - 1])
