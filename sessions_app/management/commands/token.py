"""``suture token``: the API's bearer tokens, made, listed and revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.management import declared
from sessions_app.management.base import SutureCommand
from sessions_app.management.importbase import source_named
from sessions_app.models import ApiToken, Scope
from sessions_app.services.access import LOCAL_USER, local_user_ensure, token_create, token_revoke
from sessions_app.services.database import database_prepare


class Command(declared.Token, SutureCommand):
    def run(self, *, act: str, json: bool, **options: Any) -> int:
        database_prepare()
        if act == "create":
            self._create(json, **options)
        elif act == "list":
            self._list(json, options["all"])
        else:
            self._revoke(json, options["number"])
        return 0

    def _create(
        self,
        json: bool,
        *,
        name: str,
        user: str,
        scope: list[str] | None,
        source: list[str] | None,
        days: str,
        **options: Any,
    ) -> None:
        owner = local_user_ensure() if user in ("", LOCAL_USER) else User.objects.filter(username=user).first()
        if owner is None:
            raise ValueError(f"There is no user {user}; make one with: suture createsuperuser")
        made, token = token_create(
            user=owner,
            name=name,
            now=timezone.now(),
            life=_life(days),
            scopes=scope or [Scope.READ],
            sources=None if source is None else [source_named(text) for text in source],
            actor="command",
            face="command",
        )
        if json:
            self.result({**token_document(made), "token": token})
            return
        self.tell(token)
        self.say(f"Token {made.pk} ({made.name}): {made.scope_words}; sources: {made.source_words}; {_until(made)}.")
        self.say("This is the only time it is shown.")

    def _list(self, json: bool, every: bool) -> None:
        now = timezone.now()
        known = ApiToken.objects.select_related("user").prefetch_related("sources")
        tokens = [token for token in known if every or token.live(now)]
        if json:
            self.result({"tokens": [token_document(token) for token in tokens]})
            return
        for token in tokens:
            used = f"last used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
            ended = "" if token.live(now) else "; opens nothing any more"
            self.tell(
                f"{token.pk:>4}  {token.name} of {token.user.get_username()}: {token.scope_words}; "
                f"sources: {token.source_words}; {_until(token)}; {used}{ended}"
            )
        if not tokens:
            self.say("There is no token; make one with: suture token create NAME")

    def _revoke(self, json: bool, number: int) -> None:
        token = ApiToken.objects.filter(pk=number).first()
        if token is None:
            raise ValueError(f"There is no token {number}; suture token list shows them.")
        token_revoke(token=token, actor="command", now=timezone.now(), face="command")
        token.refresh_from_db()
        if json:
            self.result(token_document(token))
        else:
            self.tell(f"Token {token.pk} ({token.name}) opens nothing any more.")


def token_document(token: ApiToken) -> dict[str, Any]:
    """Everything but the token itself, which nobody has any more. ``sources`` null: all."""
    times = ("created_at", "expires_at", "last_used_at", "revoked_at")
    return {
        "number": token.pk,
        "name": token.name,
        "user": token.user.get_username(),
        "scopes": token.scopes,
        "sources": None if token.all_sources else [source.pk for source in token.sources.all()],
        **{name: value.isoformat() if (value := getattr(token, name)) else None for name in times},
    }


def _life(days: str) -> timedelta | None:
    if days == "never":
        return None
    if not days.isascii() or not days.isdigit() or len(days) > 5:
        raise ValueError(f"--days {days} is neither a number of days nor never.")
    return timedelta(days=int(days))


def _until(token: ApiToken) -> str:
    return f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "until it is revoked"
