"""A user's own API tokens: made (and shown once), listed, revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import ApiToken, Scope, Source
from sessions_app.services.access import TokenRefused, token_create, token_revoke
from sessions_app.web.http import FACE, REPAIR, SOURCES, VIEW, HtmxRequest, actor, allowed, clock, reader, whole

LIVES = {"30": "30 days", "90": "90 days", "365": "A year", "": "Until it is revoked"}
_NEEDS = {Scope.READ: VIEW, Scope.REPAIR: REPAIR, Scope.ADMINISTER: SOURCES}


@require_http_methods(["GET", "POST"])
@allowed(VIEW)
def account(request: HtmxRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, {})
    try:
        made, token = token_create(user=reader(request), now=clock(), face=FACE, **_asked(request.POST))
    except TokenRefused as refusal:
        return _page(request, {"refused": str(refusal)}, 422)
    return _page(request, {"made": made, "token": token})


def _asked(form: QueryDict) -> dict[str, Any]:
    """What the form asks for. Raises ``TokenRefused``."""
    life = form.get("life", "")
    if life not in LIVES:
        raise TokenRefused("Choose how long the token lives.")
    chosen = None
    if form.get("reach") == "chosen":
        chosen = list(Source.objects.filter(pk__in=[number for number in map(whole, form.getlist("source")) if number]))
    return {
        "name": form.get("name", ""),
        "scopes": form.getlist("scope"),
        "sources": chosen,
        "life": timedelta(days=int(life)) if life else None,
    }


@require_POST
@allowed(VIEW)
def revoke(request: HtmxRequest, token_id: int) -> HttpResponse:
    token = ApiToken.objects.filter(pk=token_id, user=reader(request)).first()
    if token is None:
        raise Http404("You have no such token.")
    token_revoke(token=token, actor=actor(request), now=clock(), face=FACE)
    return redirect("sessions_app:account")


def _page(request: HtmxRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    now = clock()
    tokens = ApiToken.objects.filter(user=reader(request)).prefetch_related("sources")[:200]
    context |= {
        "tokens": [(token, token.live(now)) for token in tokens],
        "scopes": [(scope, request.user.has_perm(_NEEDS[scope])) for scope in Scope],
        "sources": Source.objects.order_by("name", "pk")[:500],
        "lives": LIVES.items(),
    }
    return render(request, "account/account.html", context, status=status)
