"""Pages for whatever runs the server: alive, ready to work, and figures."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.services.workers import worker_is_alive


@require_safe
@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers and its tables are up to date; 503 with the reason otherwise. ``worker``: one says that it
    lives."""
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
        alive = worker_is_alive(now=timezone.now())
    except Error:  # a connection that is gone is no DatabaseError
        return JsonResponse({"ready": False, "reason": "the database does not answer"}, status=503)
    if pending:
        return JsonResponse({"ready": False, "reason": "migrations are pending"}, status=503)
    return JsonResponse({"ready": True, "worker": alive})


@require_safe
@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for Prometheus, who brings the token of the settings as a bearer token; without one in the settings there
    is no such page."""
    if not settings.SUTURE_METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").encode("utf-8", "surrogatepass")
    if not secrets.compare_digest(given, f"Bearer {settings.SUTURE_METRICS_TOKEN}".encode()):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    from sessions_app.metrics import CONTENT_TYPE, figures  # the library is loaded where it is used only

    return HttpResponse(figures(), content_type=CONTENT_TYPE)
