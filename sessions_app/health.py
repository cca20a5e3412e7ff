"""Health pages for whatever runs the server: alive, and ready to work."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
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
    except DatabaseError:
        return JsonResponse({"ready": False, "reason": "the database does not answer"}, status=503)
    if pending:
        return JsonResponse({"ready": False, "reason": "migrations are pending"}, status=503)
    return JsonResponse({"ready": True, "worker": worker_is_alive(now=timezone.now())})
