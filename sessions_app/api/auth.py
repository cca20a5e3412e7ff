"""Who asks: a bearer token, or the dashboard's own login (with its CSRF token where something changes)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import APIKeyCookie, HttpBearer

from sessions_app.services.access import token_user

VIEW = "sessions_app.view_session"
REPAIR = "sessions_app.add_repair"
SOURCES = "sessions_app.add_source"


class Token(HttpBearer):
    """``Authorization: Bearer TOKEN``; only digests of tokens are kept."""

    openapi_name = "token"

    def authenticate(self, request: HttpRequest, token: str) -> AbstractBaseUser | None:
        user = token_user(token=token, now=timezone.now())
        if user is not None:
            request.user = user
        return user


class Login(APIKeyCookie):
    """The session cookie of somebody signed in to the dashboard."""

    param_name = settings.SESSION_COOKIE_NAME
    openapi_name = "login"

    def __call__(self, request: HttpRequest) -> Any | None:
        # Asked before the CSRF check, so that a caller without any credentials hears 401 and not of CSRF.
        return super().__call__(request) if request.user.is_authenticated else None

    def authenticate(self, request: HttpRequest, key: str | None) -> Any | None:
        return request.user


def require(request: HttpRequest, permission: str) -> None:
    """Refuse with 403 unless the caller has ``permission``."""
    if not request.user.has_perm(permission):
        raise PermissionDenied(f"This needs the permission {permission}; an administrator can give it.")


def actor(request: HttpRequest) -> str:
    """The caller's name as repairs and the audit trail keep it."""
    return request.user.get_username()
