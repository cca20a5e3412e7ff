"""Who asks: a bearer token, or the dashboard's own login (with its CSRF token where something changes)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import APIKeyCookie, HttpBearer

from sessions_app.models import ApiToken, Scope
from sessions_app.services.access import token_found

VIEW = "sessions_app.view_session"
REPAIR = "sessions_app.add_repair"
SOURCES = "sessions_app.add_source"
SCOPES = {VIEW: Scope.READ, REPAIR: Scope.REPAIR, SOURCES: Scope.ADMINISTER}
"""The scope that a token needs beside its user's permission."""


class Token(HttpBearer):
    """``Authorization: Bearer TOKEN``; only digests of tokens are kept."""

    openapi_name = "token"

    def authenticate(self, request: HttpRequest, token: str) -> AbstractBaseUser | None:
        found = token_found(token=token, now=timezone.now())
        if found is None:
            return None
        request.api_token = found  # type: ignore[attr-defined]
        request.user = found.user
        return found.user


class Login(APIKeyCookie):
    """The session cookie of somebody signed in to the dashboard."""

    param_name = settings.SESSION_COOKIE_NAME
    openapi_name = "login"

    def __call__(self, request: HttpRequest) -> Any | None:
        # Asked before the CSRF check, so that a caller without any credentials hears 401 and not of CSRF.
        return super().__call__(request) if request.user.is_authenticated else None

    def authenticate(self, request: HttpRequest, key: str | None) -> Any | None:
        return request.user


def token_of(request: HttpRequest) -> ApiToken | None:
    """The token that the caller sent, None for somebody signed in."""
    return getattr(request, "api_token", None)


def require(request: HttpRequest, permission: str) -> None:
    """Refuse with 403 unless the caller has ``permission``, and the token its scope."""
    if not request.user.has_perm(permission):
        raise PermissionDenied(f"This needs the permission {permission}; an administrator can give it.")
    token, scope = token_of(request), SCOPES[permission]
    if token is not None and scope not in token.scopes:
        raise PermissionDenied(f"This needs a token with the scope {scope}; this one has {token.scope_words}.")


def require_all_sources(request: HttpRequest) -> None:
    """Refuse with 403 a token of chosen sources: what it asked for makes a new one."""
    token = token_of(request)
    if token is not None and not token.all_sources:
        raise PermissionDenied("This makes a new source, and this token reaches chosen ones only.")


def actor(request: HttpRequest) -> str:
    """The caller's name as repairs and the audit trail keep it."""
    return request.user.get_username()
