"""Ways in: tokens and login links. Only their digests exist, so there is nothing to copy here; a new token is shown
once, on the page that follows its making."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ActionLocation
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from sessions_app.models import ApiToken, LoginLink, Scope, Source
from sessions_app.services.access import LONGEST_LIFE, TokenRefused, token_create, token_revoke

from .base import TruthAdmin


class TokenForm(forms.Form):
    """A new token. Who is no superuser makes tokens of their own only: a token may do what its user may."""

    user = forms.ModelChoiceField(User.objects.filter(is_active=True))
    name = forms.CharField(max_length=100)
    scopes = forms.MultipleChoiceField(choices=Scope.choices, initial=[Scope.READ], widget=forms.CheckboxSelectMultiple)
    sources = forms.ModelMultipleChoiceField(Source.objects.all(), required=False, help_text="None chosen: all.")
    days = forms.IntegerField(
        min_value=1, max_value=LONGEST_LIFE.days, required=False, initial=90, help_text="Empty: until it is revoked."
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if not name:
            raise ValidationError("A token needs a name.")
        return name


@admin.register(ApiToken)
class ApiTokenAdmin(TruthAdmin[ApiToken]):
    list_display = ("name", "user", "scope_words", "source_words", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("user",)
    exclude = ("digest",)
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        return super().get_queryset(request).prefetch_related("sources")

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return request.user.has_perm("sessions_app.add_apitoken")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            return super().add_view(request, form_url, extra_context)
        form = TokenForm(request.POST if request.method == "POST" else None, initial={"user": request.user.pk})
        if not request.user.is_superuser:
            own = User.objects.filter(username=request.user.get_username())
            form.fields["user"].queryset = own  # type: ignore[attr-defined]
        if form.is_valid():
            asked = form.cleaned_data
            try:
                made, token = token_create(
                    user=asked["user"],
                    name=asked["name"],
                    now=timezone.now(),
                    life=timedelta(days=asked["days"]) if asked["days"] else None,
                    scopes=asked["scopes"],
                    sources=list(asked["sources"]) or None,
                    actor=request.user.get_username(),
                    face="admin",
                )
            except TokenRefused as refusal:
                form.add_error(None, str(refusal))
            else:
                return render(request, "account/made.html", {"made": made, "token": token})
        return render(request, "account/admin_new.html", {"form": form})

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
            token_revoke(token=token, actor=request.user.get_username(), now=now, face="admin")
        messages.success(request, f"{len(live)} tokens revoked.")


@admin.register(LoginLink)
class LoginLinkAdmin(TruthAdmin[LoginLink]):
    list_display = ("__str__", "user", "created_at", "expires_at", "used_at")
    exclude = ("digest",)
