"""REST, mounted at ``/api/v1/``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt

from .app import api
from .docs import docs
from .problems import problem


def _open(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The API asks for credentials itself (a 401, no redirect to a login page), and refuses methods in its own
    words."""

    @csrf_exempt  # sessions are checked by auth.Login; bearer tokens need no check
    @functools.wraps(view, assigned=())
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if response.status_code == 405:
            refused = problem(405, f"{request.method} is not done here; {response['Allow']} is.")
            refused["Allow"] = response["Allow"]
            return refused
        return response

    answer.login_required = False  # type: ignore[attr-defined]
    return answer


def _nothing(request: HttpRequest) -> HttpResponse:
    return problem(404, "The API has nothing at this address; openapi.json lists what it has.")


def _opened(pattern: URLPattern) -> URLPattern:
    pattern.callback = _open(pattern.callback)
    return pattern


app_name = "api"

_patterns = api.urls[0]
urlpatterns: list[URLPattern] = [
    path("docs", docs, name="docs"),
    *(_opened(pattern) for pattern in _patterns if isinstance(pattern, URLPattern) and pattern.name != "api-root"),
    path("", _open(_nothing), name="api-root"),
    re_path(r"", _open(_nothing)),
]
