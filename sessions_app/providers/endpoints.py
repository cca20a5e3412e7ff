"""Where a provider is reached and with which key, out of the environment, by provider name.

``SUTURE_PROVIDER_<NAME>_URL``, ``_KEY`` (or ``_KEY_FILE``), ``_HEADERS`` (a JSON object), ``_PRICES`` (dollars for a
million tokens in and out, ``3,15``) and ``_CONTEXT`` (tokens of the window). NAME is the provider's id in capitals,
other characters than letters and digits as ``_``. Read anew each time; nothing of it is stored or logged.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from sessions_app import env
from sessions_app.domain.processor.events import Usage

_PREFIX = "SUTURE_PROVIDER_"
_OWN_URLS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
CONTEXT = 128_000
"""Tokens that a model is taken to hold where the setting says nothing."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a provider is reached. ``prices`` are dollars for a million tokens (input, output), None = not known."""

    provider: str
    url: str
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prices: tuple[float, float] | None = None
    context: int = CONTEXT

    @property
    def host(self) -> str:
        """What a user is shown before something is sent there."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def cost(self, usage: Usage) -> float | None:
        """Dollars, None where no prices are set. Cached input is counted at the price of input."""
        if self.prices is None:
            return None
        read = usage.input + usage.cache_read + usage.cache_write
        written = usage.output + usage.reasoning
        return (read * self.prices[0] + written * self.prices[1]) / 1_000_000


def endpoint(provider: str) -> Endpoint | None:
    """The provider's endpoint, None where none is configured. Raises ``ImproperlyConfigured``."""
    stem = stem_of(provider)
    key = env.text(f"{stem}_KEY")
    url = env.text(f"{stem}_URL") or (_OWN_URLS.get(provider, "") if key else "")
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ImproperlyConfigured(f"{stem}_URL must be an http or https address")
    return Endpoint(
        provider=provider,
        url=url,
        key=key,
        headers=_headers(f"{stem}_HEADERS"),
        prices=_prices(f"{stem}_PRICES"),
        context=env.integer(f"{stem}_CONTEXT", CONTEXT, minimum=1_000),
    )


def endpoints() -> list[str]:
    """Names of the providers that have an endpoint, as the environment spells them in small letters."""
    found = {
        match[1].lower()
        for name in os.environ
        if (match := re.fullmatch(rf"{_PREFIX}([A-Z0-9_]+?)_(?:URL|KEY|KEY_FILE)", name))
    }
    return sorted(found)


def stem_of(provider: str) -> str:
    """What the names of a provider's settings begin with."""
    return _PREFIX + re.sub(r"[^A-Z0-9]", "_", provider.upper())


def _headers(name: str) -> dict[str, str]:
    text = env.text(name)
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ImproperlyConfigured(f"{name} must be a JSON object of header names and texts")
    return value


def _prices(name: str) -> tuple[float, float] | None:
    values = env.listing(name)
    if not values:
        return None
    try:
        read, written = (float(value) for value in values)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be two numbers: dollars for a million tokens in and out") from None
    if not (0 <= read < 1e6 and 0 <= written < 1e6):
        raise ImproperlyConfigured(f"{name} must be two prices in dollars")
    return read, written
