"""Errors as problem documents (RFC 9457): ``application/problem+json`` with type, title, status, detail."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError
from pydantic import Field

from sessions_app.domain.near import did_you_mean
from sessions_app.domain.patience import over
from sessions_app.domain.wish import WishError
from sessions_app.selectors.filters import FilterRefused
from sessions_app.services.refusals import own_database_trouble

from .asked import known_to

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


class PlaceOut(Schema):
    """A field or parameter, as ``body/rules/0``, and what is wrong with it."""

    at: str
    what: str


class ProblemOut(Schema):
    """Every error of the API."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[PlaceOut] = Field(default=[], description="of 422: what is wrong where")
    kind: str = Field(default="", description="of a refusal: changed, held, nothing, state, store, form, wish, masked")
    changed: list[str] = Field(default=[], description="of a refusal: which rows are others now")


def problem(status: int, detail: str, facts: Mapping[str, Any] | None = None) -> HttpResponse:
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    response = JsonResponse({**(facts or {}), **document}, status=status, content_type=PROBLEM)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    return response


def together(places: Iterable[Mapping[str, str]]) -> str:
    """What is wrong at each place, in one line."""
    return "; ".join(f"{fault['at']}: {fault['what']}" for fault in places)


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
        known = known_to(api, request).body
        places = [{"at": _place(fault["loc"]), "what": _words(fault, known)} for fault in error.errors]
        return problem(422, together(places), {"errors": places})

    @api.exception_handler(WishError)
    def _unknown_name(request: HttpRequest, error: WishError) -> HttpResponse:
        return problem(422, str(error))

    @api.exception_handler(FilterRefused)
    def _strange_filter(request: HttpRequest, error: FilterRefused) -> HttpResponse:
        places = [{"at": f"query/{fault.name}", "what": f"not understood: {fault.words}"} for fault in error.faults]
        return problem(422, str(error), {"errors": places})

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
        if own_database_trouble(error) or over():
            raise error  # the middleware asks once more, or answers 503
        logger.error("unforeseen fault in %s %s", request.method, request.path, exc_info=error)
        return problem(500, "Something went wrong here; the log tells more.")


def _words(fault: Mapping[str, Any], known: Collection[str]) -> str:
    """What is wrong with a field, and what was probably meant."""
    if fault["type"] == "extra_forbidden":
        name = str(fault["loc"][-1])
        return f"unknown field {name}{did_you_mean(name, known)}"
    return str(fault["msg"])


def _place(loc: tuple[str | int, ...]) -> str:
    """``query/health/0``: a schema of parameters repeats the word for where they are."""
    return "/".join(str(word) for index, word in enumerate(loc) if index == 0 or word != loc[index - 1])
