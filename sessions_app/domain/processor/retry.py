"""Whether a failed attempt is tried again, and after how long. Pure: the clock and the sleep are the caller's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .events import Failure

_ALWAYS: Final = frozenset({"connection", "cut", "decompression", "timeout"})
_NEVER: Final = frozenset({"auth", "overflow", "aborted", "tool"})
_CODES: Final = frozenset(
    {
        "overloaded_error",
        "rate_limit_error",
        "api_error",
        "timeout_error",
        "server_error",
        "internal_server_error",
        "rate_limit_exceeded",
        "network_error",
        "server_is_overloaded",
        "slow_down",
    }
)
"""Types of errors that come inside a stream, where no HTTP status speaks (docs/contract/wire.md#0.1)."""
_WORDS: Final = re.compile(r"overloaded|too many requests|rate limit|temporarily unavailable|try again later", re.I)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``tries`` of one step in all, the first included; ``total`` milliseconds from its start within which another may
    begin."""

    tries: int = 8
    total: int = 600_000
    first: int = 2_000
    longest: int = 30_000

    def wait(self, failure: Failure, tried: int, started: int, now: int) -> int | None:
        """Milliseconds to wait before the next try; None = give up. ``tried`` counts the tries so far."""
        if tried >= self.tries or not retryable(failure):
            return None
        asked = asked_wait(failure.headers, now)
        wait = asked if asked is not None else min(self.first * 2 ** min(tried - 1, 30), self.longest)
        return wait if now - started + wait <= self.total else None


USUAL: Final = RetryPolicy()


def retryable(failure: Failure) -> bool:
    """5xx, 429, overloaded, resets, cuts, decompression, time-outs and what the provider marks; never an overflow, auth
    or other 4xx."""
    if failure.kind in _NEVER:
        return False
    if failure.kind in _ALWAYS:
        return True
    if failure.retryable is not None:
        return failure.retryable
    if failure.status is not None and failure.status != 200:
        return failure.status == 429 or failure.status >= 500
    return failure.code in _CODES or bool(_WORDS.search(failure.message))


def asked_wait(headers: Mapping[str, str], now: int) -> int | None:
    """What the provider asks for: ``retry-after-ms``, else ``retry-after`` in seconds or as an HTTP date; None where it
    asks nothing usable."""
    exact = _number(headers.get("retry-after-ms", ""))
    if exact is not None:
        return round(exact)
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None:
        return round(seconds * 1000)
    at = http_date(text)
    return max(0, at - now) if at is not None else None


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip(), re.ASCII) else None


_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
_DATES: Final = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"\w{{3}}, (?P<d>\d\d) (?P<mon>\w{{3}}) (?P<y>\d{{4}}) {_TIME} GMT",
        rf"\w{{6,9}}, (?P<d>\d\d)-(?P<mon>\w{{3}})-(?P<y>\d\d) {_TIME} GMT",
        rf"\w{{3}} (?P<mon>\w{{3}}) (?P<d>[ \d]\d) {_TIME} (?P<y>\d{{4}})",
    )
)


def http_date(text: str) -> int | None:
    """An HTTP date (any of its three forms) as milliseconds since the epoch, None for other text. By hand: names of
    months are English whatever the machine's locale."""
    for form in _DATES:
        match = form.fullmatch(text)
        if match is None or match["mon"] not in _MONTHS:
            continue
        year = int(match["y"])
        if year < 100:
            year += 2000 if year < 70 else 1900
        try:
            day, month = int(match["d"]), _MONTHS.index(match["mon"]) + 1
            clock = (int(match["h"]), int(match["m"]), min(int(match["s"]), 59))
            return round(datetime(year, month, day, *clock, tzinfo=UTC).timestamp() * 1000)
        except ValueError:
            return None
    return None
