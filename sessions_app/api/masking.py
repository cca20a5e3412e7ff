"""The policy for secrets (services/revealing.py) in every answer of the API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder

from sessions_app.domain.secrets import SECRET, masked_deeply
from sessions_app.models import Scope
from sessions_app.services.revealing import Reading

from .auth import REPAIR, actor, token_of


def may_reveal(request: HttpRequest) -> bool:
    """As on the pages: who may repair, with a token that may."""
    token = token_of(request)
    return request.user.has_perm(REPAIR) and (token is None or Scope.REPAIR in token.scopes)


def shown(request: HttpRequest, text: str) -> str:
    """JSON or plain text as the caller gets it. Masks hold no quotes, so JSON stays JSON."""
    return _reading(request).given(text)


def lines_shown(request: HttpRequest, lines: Iterable[str]) -> Iterator[str]:
    """The same of a stream, kept in the audit trail once."""
    return _reading(request).lines(lines)


class MaskingRenderer(JSONRenderer):
    """Every answer of the API that is no file, problems apart."""

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> Any:
        text = json.dumps(data, cls=NinjaJSONEncoder)
        if not SECRET.search(text):
            return text
        reading = _reading(request)
        if reading.reveals:
            reading.keep()
            return text
        return json.dumps(masked_deeply(json.loads(text)))


def _reading(request: HttpRequest) -> Reading:
    named = request.resolver_match.kwargs if request.resolver_match else {}
    subject = ("session", named["sid"]) if "sid" in named else ("", "")
    what = f"{request.method} {request.path}"
    return Reading(may_reveal(request), what, actor(request), "api", timezone.now(), subject)
