"""One policy for secrets in every answer: who may not reveal gets what looks like a key masked; who may gets it as it
is, and the audit trail says so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder

from sessions_app.domain.secrets import SECRET, masked, masked_deeply
from sessions_app.models import Scope
from sessions_app.services.audit import secret_read

from .auth import REPAIR, actor, token_of


def may_reveal(request: HttpRequest) -> bool:
    """As on the pages: who may repair, with a token that may."""
    token = token_of(request)
    return request.user.has_perm(REPAIR) and (token is None or Scope.REPAIR in token.scopes)


def shown(request: HttpRequest, text: str) -> str:
    """JSON or plain text as the caller gets it. Masks hold no quotes, so JSON stays JSON."""
    if not SECRET.search(text):
        return text
    if not may_reveal(request):
        return masked(text)
    _keep(request)
    return text


def lines_shown(request: HttpRequest, lines: Iterable[str]) -> Iterator[str]:
    """The same of a stream, kept in the audit trail once."""
    reveals, kept = may_reveal(request), False
    for line in lines:
        if not reveals:
            yield masked(line)
            continue
        if not kept and SECRET.search(line):
            _keep(request)
            kept = True
        yield line


class MaskingRenderer(JSONRenderer):
    """Every answer of the API that is no file, problems apart."""

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> Any:
        text = json.dumps(data, cls=NinjaJSONEncoder)
        if not SECRET.search(text):
            return text
        if may_reveal(request):
            _keep(request)
            return text
        return json.dumps(masked_deeply(json.loads(text)))


def _keep(request: HttpRequest) -> None:
    named = request.resolver_match.kwargs if request.resolver_match else {}
    subject = ("session", named["sid"]) if "sid" in named else ("", "")
    secret_read(
        what=f"{request.method} {request.path}", actor=actor(request), face="api", now=timezone.now(), subject=subject
    )
