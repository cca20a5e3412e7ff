"""Where each face begins."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from .health import healthz, metrics, readyz

admin.autodiscover()

handler500 = "sessions_app.web.middleware.failed"

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("sessions_app.api.urls")),
    path("", include("sessions_app.web.urls")),
]
