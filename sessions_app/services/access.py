"""Ways in: the local user of ``serve``, one-time login links, API tokens. Tokens are shown once; only their digests are
kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from sessions_app.models import ApiToken, LoginLink, Scope, Source

from .audit import audit_record

LOCAL_USER = "local"
LOCAL_TOKEN = "printed by serve"  # noqa: S105  a name, not a secret
LINK_LIFE = timedelta(minutes=15)
LONGEST_LIFE = timedelta(days=3650)
_TOKEN_PREFIX = "sut_"  # noqa: S105  what every token begins with, so that scanners of leaked secrets know it


class LoginLinkRefused(Exception):
    """The link is not one of ours, was used, or is too old."""


class TokenRefused(ValueError):
    """No such token is made; the words say why."""


def local_user_ensure() -> User:
    """The user of a server on loopback: administrator without a password, who signs in by link only."""
    user, created = get_user_model().objects.get_or_create(
        username=LOCAL_USER, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=("password",))
    return user


def login_link_create(*, user: User, now: datetime) -> str:
    """A token for ``/login/link/<token>`` that signs ``user`` in once, within fifteen minutes."""
    token = secrets.token_urlsafe(32)
    LoginLink.objects.create(user=user, digest=_digest(token), created_at=now, expires_at=now + LINK_LIFE)
    return token


def login_link_use(*, token: str, now: datetime) -> User:
    """The user whom the link signs in; the link is spent. Raises ``LoginLinkRefused``."""
    digest = _digest(token)
    spent = LoginLink.objects.filter(digest=digest, used_at=None, expires_at__gt=now).update(used_at=now)
    if not spent:
        raise LoginLinkRefused("This login link was used already or is too old. Start the server again for a new one.")
    user = LoginLink.objects.select_related("user").get(digest=digest).user
    if not user.is_active:
        raise LoginLinkRefused("The user of this login link may not sign in.")
    audit_record(action="login.link", actor=user.get_username(), face="web", now=now, subject=("user", user.pk))
    return user


def token_create(
    *,
    user: User,
    name: str,
    now: datetime,
    life: timedelta | None = None,
    scopes: Collection[str] = tuple(Scope.values),
    sources: Collection[Source] | None = None,
    actor: str = "",
    face: str = "",
) -> tuple[ApiToken, str]:
    """A new bearer token for ``user`` and its text; this is the only time it can be seen. ``sources`` None = all, also
    later ones. Raises ``TokenRefused`` in words."""
    unknown = set(scopes) - set(Scope.values)
    if unknown or not scopes:
        raise TokenRefused(f"A token has one or more of the scopes {', '.join(Scope.values)}.")
    if not name.strip():
        raise TokenRefused("A token needs a name, by which it is known in lists.")
    if sources is not None and not sources:
        raise TokenRefused("A token reaches all stores, or the ones that are chosen; none was.")
    if life is not None and not timedelta(0) < life <= LONGEST_LIFE:
        raise TokenRefused(f"A token lives from 1 to {LONGEST_LIFE.days:,} days, or until it is revoked.")
    token = _TOKEN_PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        made = ApiToken.objects.create(
            user=user,
            name=name.strip()[:100],
            scopes=[scope for scope in Scope.values if scope in scopes],
            all_sources=sources is None,
            digest=_digest(token),
            created_at=now,
            expires_at=now + life if life else None,
        )
        made.sources.set(sources or ())
        audit_record(
            action="token.made", actor=actor or user.get_username(), now=now, face=face, subject=("token", made.pk),
            name=made.name, user=user.get_username(), scopes=made.scope_words,
        )  # fmt: skip
    return made, token


def local_token_renew(*, user: User, now: datetime, place: Path, alone: bool) -> str:
    """The token that ``serve`` prints. Those of earlier starts on the data directory ``place`` open nothing any more,
    where the caller holds that directory ``alone``; what another server printed stays."""
    name = f"{LOCAL_TOKEN} in {place}"[:100]
    if alone:
        ApiToken.objects.filter(user=user, name=name, revoked_at=None).update(revoked_at=now)
    return token_create(user=user, name=name, now=now)[1]


def token_found(*, token: str, now: datetime) -> ApiToken | None:
    """The token, None where it is unknown, revoked, too old, or its user may not sign in. Its use is noted."""
    valid = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))
    found = ApiToken.objects.select_related("user").filter(valid, digest=_digest(token), user__is_active=True).first()
    if found is None:
        return None
    if found.last_used_at is None or now - found.last_used_at > timedelta(minutes=1):
        ApiToken.objects.filter(pk=found.pk).update(last_used_at=now)
    return found


def token_revoke(*, token: ApiToken, actor: str, now: datetime, face: str = "") -> None:
    """It opens nothing any more; it stays in the list. Nothing happens to one that was revoked before."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        audit_record(
            action="token.revoked", actor=actor, now=now, face=face, subject=("token", token.pk), name=token.name
        )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
