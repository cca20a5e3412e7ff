"""Pages of the dashboard."""

from __future__ import annotations

from django.urls import URLPattern, path

from sessions_app.web.asked import asked
from sessions_app.web.views import (
    account,
    bulk,
    history,
    ignoring,
    lists,
    locate,
    overview,
    parts,
    payload,
    provider,
    repairing,
    saved,
    search,
    session,
    slimming,
    sources,
    stores,
    tabs,
    tokens,
)

app_name = "sessions_app"

_pages: list[URLPattern] = [
    path("", overview.front, name="overview"),
    path("sessions/", lists.sessions, name="sessions"),
    path("jump/", lists.jump, name="jump"),
    path("views/save/", saved.save, name="view-save"),
    path("views/<int:view_id>/change/", saved.change, name="view-change"),
    path("views/<int:view_id>/delete/", saved.delete, name="view-delete"),
    path("search/", search.search, name="search"),
    path("locate/", locate.locate_error, name="locate"),
    path("locate/<str:key>/", locate.located, name="located"),
    path("sessions/<int:session_id>/", session.timeline, name="session"),
    path("sessions/<int:session_id>/findings/", tabs.findings, name="findings"),
    path("sessions/<int:session_id>/payload/", payload.payload, name="payload"),
    path("sessions/<int:session_id>/provider/", provider.provider, name="provider"),
    path("sessions/<int:session_id>/provider/payload", provider.payload, name="provider-payload"),
    path("sessions/<int:session_id>/provider/probe", provider.probe, name="probe"),
    path("sessions/<int:session_id>/provider/compact", provider.compact, name="compact"),
    path("sessions/<int:session_id>/provider/cancel", provider.cancel, name="compact-cancel"),
    path("sessions/<int:session_id>/provider/apply", provider.apply, name="compact-apply"),
    path("sessions/<int:session_id>/repairs/", tabs.repairs, name="session-repairs"),
    path("sessions/<int:session_id>/raw/", tabs.raw, name="raw"),
    path("sessions/<int:session_id>/more/", tabs.more, name="more"),
    path("sessions/<int:session_id>/markdown/", session.as_markdown, name="session-markdown"),
    path("sessions/<int:session_id>/scan/", session.scan, name="scan"),
    path("sessions/<int:session_id>/relink/", stores.relink, name="relink"),
    path("sessions/<int:session_id>/repair/", repairing.repair, name="repair"),
    path("parts/<int:part_id>/", parts.raw, name="part-raw"),
    path("sessions/<int:session_id>/ignore/", ignoring.ignore, name="finding-ignore"),
    path("sessions/<int:session_id>/mind/", ignoring.mind, name="finding-mind"),
    path("parts/<int:part_id>/reveal", parts.reveal, name="part-reveal"),
    path("parts/<int:part_id>/body", parts.body, name="part-body"),
    path("parts/<int:part_id>/image/<int:index>", parts.image, name="part-image"),
    path("sources/", sources.sources, name="sources"),
    path("sources/attach/", sources.attach, name="source-attach"),
    path("sources/upload/", sources.upload, name="source-upload"),
    path("sources/<int:source_id>/", sources.source, name="source"),
    path("sources/<int:source_id>/store/", stores.store, name="source-store"),
    path("sources/recover/", stores.recover_path, name="path-recover"),
    path("sources/<int:source_id>/recover/", stores.recover, name="source-recover"),
    path("sources/<int:source_id>/tidy/", stores.tidy, name="source-tidy"),
    path("sources/<int:source_id>/slim/", slimming.slim, name="source-slim"),
    path("sources/<int:source_id>/slim/cancel/", slimming.cancel, name="source-slim-cancel"),
    path("sources/<int:source_id>/slim/forget/", slimming.forget, name="source-slim-forget"),
    path("sources/<int:source_id>/adopt/", stores.adopt, name="source-adopt"),
    path("sources/<int:source_id>/relink/", stores.relink_folder, name="source-relink"),
    path("sources/<int:source_id>/sync/", sources.sync, name="source-sync"),
    path("sources/<int:source_id>/input/", sources.reads, name="source-input"),
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
    path("account/", tokens.account, name="account"),
    path("account/tokens/<int:token_id>/revoke/", tokens.revoke, name="token-revoke"),
    path("login/", account.login, name="login"),
    path("login/link/<str:token>", account.login_link, name="login-link"),
    path("logout/", account.logout, name="logout"),
    path("preferences/", account.preferences, name="preferences"),
    path("help/", account.help_page, name="help"),
]


def _guarded(page: URLPattern) -> URLPattern:
    page.callback = asked(str(page.name), page.callback)
    return page


urlpatterns = [_guarded(page) for page in _pages]
