"""The API object: its routers, who may call, how it fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest

from sessions_app.api import (
    bulk,
    engine,
    export,
    locate,
    payloads,
    problems,
    repairs,
    search,
    sessions,
    slimming,
    sources,
    stores,
    timeline,
    upgrading,
)

from .asked import strange_query
from .auth import Login, Token
from .document import DocumentedAPI
from .masking import MaskingRenderer

DESCRIPTION = """\
Stored sessions of AI coding agents: what is wrong with each, what a provider would say, and repairs with an undo.

Send `Authorization: Bearer TOKEN` (`suture token create` or the account page makes one, `suture serve` prints one), or
use the dashboard's login with its CSRF token in `X-CSRFToken`. A token has scopes (read, repair, administer) and
reaches all sources or chosen ones; what lies beyond these is a 404. `{sid}` is Suture's own number of a session;
`GET sessions?id=ses_...` finds it by the stored id. What looks like a key is masked for callers who may not repair.
Errors are problem documents.
"""

api = DocumentedAPI(
    title="Suture",
    version="1",
    description=DESCRIPTION,
    openapi_url="openapi.json",
    docs_url=None,
    urls_namespace="api",
    auth=[Token(), Login()],
    renderer=MaskingRenderer(),
)
problems.install(api)


def _asked(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Parameters that the operation does not know are refused."""

    @wraps(operation)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if places := strange_query(api, request):
            raise problems.Problem(422, problems.together(places), errors=places)
        return operation(request, *args, **kwargs)

    return checked


api.add_decorator(_asked)

for module in (
    *(sources, sessions, search, timeline, payloads, repairs, bulk, locate, export),
    *(stores, slimming, upgrading, engine),
):
    api.add_router("", module.router)
