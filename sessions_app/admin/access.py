"""Ways in: tokens and login links. Only their digests exist, so there is nothing to copy here."""

from __future__ import annotations

from django.contrib import admin, messages
from django.contrib.admin import ActionLocation
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.models import ApiToken, LoginLink
from sessions_app.services.access import token_revoke

from .base import TruthAdmin


@admin.register(ApiToken)
class ApiTokenAdmin(TruthAdmin[ApiToken]):
    list_display = ("name", "user", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("user",)
    exclude = ("digest",)
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("sessions_app.change_apitoken")

    @admin.action(
        description="Revoke",
        permissions=["revoke"],
        location=[ActionLocation.CHANGE_LIST, ActionLocation.CHANGE_FORM],
    )
    def revoke(self, request: HttpRequest, tokens: QuerySet[ApiToken]) -> None:
        now = timezone.now()
        live = list(tokens.filter(revoked_at=None))
        for token in live:
            token_revoke(token=token, actor=request.user.get_username(), now=now)
        messages.success(request, f"{len(live)} tokens revoked.")


@admin.register(LoginLink)
class LoginLinkAdmin(TruthAdmin[LoginLink]):
    list_display = ("__str__", "user", "created_at", "expires_at", "used_at")
    exclude = ("digest",)
