"""What views share: the typed request, who may do what, the clock, and loading a session or answering 404."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate
from urllib.parse import urlsplit, urlunsplit

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from sessions_app.models import Session
from sessions_app.services.revealing import Reading

VIEW = "sessions_app.view_session"
REPAIR = "sessions_app.add_repair"
SOURCES = "sessions_app.add_source"
_WORDS = {
    VIEW: "look at sessions",
    REPAIR: "repair sessions",
    SOURCES: "add and remove stores",
}

FACE = "web"


class HtmxRequest(HttpRequest):
    htmx: HtmxDetails


type View[**P] = Callable[Concatenate[HtmxRequest, P], HttpResponseBase]


def allowed[**P](permission: str) -> Callable[[View[P]], View[P]]:
    """Only for users who hold the permission; others get a 403 page that says which one is missing."""

    def wrap(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HtmxRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not request.user.has_perm(permission):
                raise PermissionDenied(f"Your account may not {_WORDS[permission]}. An administrator can allow it.")
            return view(request, *args, **kwargs)

        return guarded

    return wrap


def clock() -> dt.datetime:
    """Now. Faces read the clock and pass it on; services never do."""
    return dt.datetime.now(tz=dt.UTC)


def actor(request: HttpRequest) -> str:
    return str(request.user.get_username())


def reader(request: HttpRequest) -> User:
    """Who is signed in."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Sign in first.")
    return request.user


def given_out(request: HttpRequest, text: str, session: Session | None = None) -> str:
    """Text for a download: what looks like a key is masked for who may not reveal it, else the audit trail keeps that
    it was given."""
    subject = ("session", session.pk) if session else ("", "")
    reveals = request.user.has_perm(REPAIR)
    return Reading(reveals, request.path, actor(request), FACE, clock(), subject).given(text)


def load_session(session_id: int) -> Session:
    try:
        return Session.objects.select_related("source").get(pk=session_id)
    except Session.DoesNotExist:
        raise Http404("There is no such session here. Its store may have been deleted.") from None


def wants_partial(request: HtmxRequest, target: str) -> bool:
    """htmx asks for this region only (and not to restore a page from history)."""
    return bool(request.htmx) and request.htmx.target == target and not request.htmx.history_restore_request


def page_rows[M: Model](found: QuerySet[M], number: int, per_page: int) -> tuple[list[M], int]:
    """The rows of a page, none beyond the last, and how many pages there are."""
    rows = list(found[(number - 1) * per_page : number * per_page])
    return rows, max(1, -(-found.count() // per_page))


def page_number(query: QueryDict) -> int:
    text = query.get("page", "1")
    return min(int(text), 1_000_000) if text.isascii() and text.isdigit() else 1


def whole(text: str | None) -> int | None:
    """A non-negative integer out of a query string, None where it is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 15 else None


def listed_in(request: HttpRequest) -> str:
    """The query of the list that a session was opened from, in the address or in the form."""
    return str(request.GET.get("list") or request.POST.get("list") or "")[:2000]


def wanted_next(request: HttpRequest) -> str:
    """The form's ``next`` where that is a page of this site, else ""."""
    wanted = request.POST.get("next", "")
    here = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if wanted and here else ""


def back_to(request: HttpRequest, fallback: str, *args: Any) -> HttpResponse:
    """Redirect to the form's ``next`` where that is a page of this site, else to ``fallback``."""
    return redirect(wanted_next(request) or fallback, *(() if wanted_next(request) else args))


def told_at(request: HttpRequest, fallback: str, repaired: str) -> str:
    """The address of the form's ``next``, else ``fallback``, where the outcome of a repair is told."""
    parts = urlsplit(wanted_next(request) or fallback)
    query = QueryDict(parts.query, mutable=True)
    query["outcome"] = repaired
    return urlunsplit(("", "", parts.path, query.urlencode(), ""))
