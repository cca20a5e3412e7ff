"""Pages of the dashboard."""

from __future__ import annotations

from django.urls import URLPattern, path

from .views import (
    account,
    bulk,
    history,
    lists,
    locate,
    parts,
    payload,
    repairing,
    session,
    sources,
    storewide,
    tabs,
)

app_name = "sessions_app"

urlpatterns: list[URLPattern] = [
    path("", lists.sessions, name="sessions"),
    path("jump/", lists.jump, name="jump"),
    path("locate/", locate.locate_error, name="locate"),
    path("sessions/<int:session_id>/", session.timeline, name="session"),
    path("sessions/<int:session_id>/findings/", tabs.findings, name="findings"),
    path("sessions/<int:session_id>/payload/", payload.payload, name="payload"),
    path("sessions/<int:session_id>/repairs/", tabs.repairs, name="session-repairs"),
    path("sessions/<int:session_id>/raw/", tabs.raw, name="raw"),
    path("sessions/<int:session_id>/more/", tabs.more, name="more"),
    path("sessions/<int:session_id>/scan/", session.scan, name="scan"),
    path("sessions/<int:session_id>/relink/", storewide.relink, name="relink"),
    path("sessions/<int:session_id>/repair/", repairing.repair, name="repair"),
    path("parts/<int:part_id>/", parts.raw, name="part-raw"),
    path("parts/<int:part_id>/body", parts.body, name="part-body"),
    path("parts/<int:part_id>/image/<int:index>", parts.image, name="part-image"),
    path("sources/", sources.sources, name="sources"),
    path("sources/attach/", sources.attach, name="source-attach"),
    path("sources/upload/", sources.upload, name="source-upload"),
    path("sources/<int:source_id>/", sources.source, name="source"),
    path("sources/<int:source_id>/store/", storewide.store, name="source-store"),
    path("sources/<int:source_id>/recover/", storewide.recover, name="source-recover"),
    path("sources/<int:source_id>/tidy/", storewide.tidy, name="source-tidy"),
    path("sources/<int:source_id>/adopt/", storewide.adopt, name="source-adopt"),
    path("sources/<int:source_id>/sync/", sources.sync, name="source-sync"),
    path("sources/<int:source_id>/cancel/", sources.cancel, name="source-cancel"),
    path("sources/<int:source_id>/delete/", sources.delete, name="source-delete"),
    path("repairs/", history.repairs, name="repairs"),
    path("repairs/<str:public_id>/", history.repair, name="repair-detail"),
    path("repairs/<str:public_id>/undo/", history.undo, name="repair-undo"),
    path("bulk/", bulk.bulk, name="bulk"),
    path("bulk/start/", bulk.start, name="bulk-start"),
    path("bulk/<uuid:number>/", bulk.batch, name="batch"),
    path("bulk/<uuid:number>/cancel/", bulk.cancel, name="batch-cancel"),
    path("bulk/<uuid:number>/undo/", bulk.undo, name="batch-undo"),
    path("bulk/<uuid:number>/retry/", bulk.retry, name="batch-retry"),
    path("bulk/<uuid:number>/report.<str:form>", bulk.report, name="batch-report"),
    path("login/", account.login, name="login"),
    path("login/link/<str:token>", account.login_link, name="login-link"),
    path("logout/", account.logout, name="logout"),
    path("preferences/", account.preferences, name="preferences"),
    path("help/", account.help_page, name="help"),
]
