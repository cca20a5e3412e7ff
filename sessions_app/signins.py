"""Signing in with a password: who asks, what is kept of failures, and the answer after too many of them (django-axes
counts; the settings are its own)."""

from __future__ import annotations

import ipaddress
from typing import Any

from axes.signals import user_locked_out
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from sessions_app.services.audit import audit_record

UNKNOWN = "somebody unknown"
"""What is typed in place of a name may be a password, so only names of accounts are kept."""


def client_address(request: HttpRequest) -> str:
    """Where a request comes from; of IPv6 the network, of which a machine has many addresses. Behind a proxy the last
    entry of ``X-Forwarded-For``, which the proxy itself wrote: earlier ones are the client's own words."""
    given = request.META.get("REMOTE_ADDR", "")
    if settings.SUTURE_BEHIND_PROXY:
        given = request.META.get("HTTP_X_FORWARDED_FOR", given).rpartition(",")[2].strip() or given
    try:
        found = ipaddress.ip_address(given)
    except ValueError:
        return "0.0.0.0"  # noqa: S104  nothing is bound: a socket of the machine itself has no address
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(found), 64), strict=False).network_address)
    return str(found)


def too_many(request: HttpRequest, original: HttpResponse | None = None, credentials: Any = None) -> HttpResponse:
    """The answer while no password is looked at."""
    minutes = int(settings.AXES_COOLOFF_TIME.total_seconds()) // 60
    response = render(request, "account/locked.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(minutes * 60)
    return response


@receiver(user_login_failed)
def failed(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **more: Any) -> None:
    """A wrong password or name. While locked out nothing more is kept, so that nobody fills the audit trail."""
    if request is not None and not (getattr(request, "axes_locked_out", False) and not _counted(request)):
        _kept("login.failed", str(credentials.get("username", "")), request)


@receiver(user_locked_out)
def locked(sender: Any, request: HttpRequest, username: str, **more: Any) -> None:
    if _counted(request):
        _kept("login.locked", username, request)


def _counted(request: HttpRequest) -> bool:
    """This attempt was counted: it is the one that locks, not one of those after it."""
    return bool(getattr(request, "axes_failures_since_start", None))


def _kept(action: str, name: str, request: HttpRequest) -> None:
    user = User.objects.filter(username=name[:150].replace("\0", "")).first()
    audit_record(
        action=action,
        actor=user.get_username() if user else UNKNOWN,
        face="web",
        now=timezone.now(),
        subject=("user", user.pk if user else ""),
        address=client_address(request),
    )
