"""Keeping pasted error texts, for addresses that can be shared."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.crypto import salted_hmac

from sessions_app.domain.secrets import masked
from sessions_app.models import PastedError

KEPT = timedelta(days=30)
"""How long a text is kept after it was last pasted."""


def pasted_keep(*, text: str, asked: str, now: datetime) -> str:
    """Keep a text; gives the key of its address. What is older than ``KEPT`` goes."""
    PastedError.objects.filter(created_at__lt=now - KEPT).delete()
    text = masked(text)
    key = salted_hmac("suture.pasted-error", f"{asked}\x00{text}", algorithm="sha256").hexdigest()[:40]
    PastedError.objects.update_or_create(key=key, defaults={"text": text, "asked": asked, "created_at": now})
    return key


def pasted_forget(*, key: str) -> None:
    PastedError.objects.filter(key=key).delete()


def pasted_error(*, key: str, now: datetime) -> PastedError | None:
    """The text of an address, None where it is not kept any more."""
    return PastedError.objects.filter(key=key, created_at__gte=now - KEPT).first()
