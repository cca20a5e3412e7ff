"""Filters: words of states, times, and text of transcripts made harmless. The components are in ``components.py``."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from typing import Any

from django import template
from django.utils.safestring import SafeString

from sessions_app.web import present
from sessions_app.web.markup import format_html, format_html_join
from sessions_app.web.text import highlighted, masked_html, plain

register = template.Library()

_SPACES = re.compile(r"\s+")

_ADOPTED = {"would-adopt": "would be brought in", "adopted": "brought in", "there": "there already"}


@register.filter
def health_word(health: str) -> str:
    """A health inside a sentence: "at risk"."""
    return present.HEALTH[health].word.lower() if health in present.HEALTH else health


@register.filter
def certainty(word: str) -> str:
    """How well a provider's words are known."""
    return present.CERTAINTY.get(word, word)


@register.filter
def counted(number: int, word: str) -> str:
    """``{{ n|counted:"session" }}``: "1 session", "12 sessions"."""
    return present.counted(number, word)


@register.filter
def protocol_name(protocol: str) -> str:
    return present.PROTOCOL.get(protocol, protocol)


@register.filter
def adopted_word(outcome: str) -> str:
    """What came of a session that was to be brought into another store."""
    return _ADOPTED.get(outcome, outcome)


@register.filter
def duration(milliseconds: Any) -> str:
    """How long something took: 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 days."""
    if not isinstance(milliseconds, (int, float)):
        return ""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{int(milliseconds)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, left = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} days"


def moment(value: Any) -> dt.datetime | None:
    """A datetime, its ISO text, or milliseconds since the epoch as opencode stores them; None for what is no time."""
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return dt.datetime.fromisoformat(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return dt.datetime.fromtimestamp(value / 1000, tz=dt.UTC)
        except (OverflowError, OSError, ValueError):
            return None
    return None


@register.filter
def when(value: Any) -> SafeString | str:
    """An absolute time in UTC as a <time> element; ``times.js`` shows it in the reader's own zone."""
    at = moment(value)
    if at is None:
        return "unknown time"
    return format_html('<time datetime="{}" data-local>{} UTC</time>', at.isoformat(), at.strftime("%Y-%m-%d %H:%M"))


register.simple_tag(when, name="when")


def _clock(context: template.Context) -> dt.datetime:
    """The request's clock; an include with ``only`` does not see it, and takes the time of day."""
    now = context.get("now")
    return now if isinstance(now, dt.datetime) else dt.datetime.now(tz=dt.UTC)


@register.simple_tag(takes_context=True)
def ago(context: template.Context, value: Any) -> SafeString | str:
    """A time relative to the request's clock; the absolute time is in its title."""
    return _relative(context, value, "never", "ago")


@register.simple_tag(takes_context=True)
def age(context: template.Context, value: Any) -> SafeString | str:
    """As ``ago`` without that word, for a column; "" where there is no time."""
    return _relative(context, value, "", "")


def _relative(context: template.Context, value: Any, none: str, after: str) -> SafeString | str:
    at, now = moment(value), _clock(context)
    if at is None:
        return none
    passed = (now - at).total_seconds()
    days = "days" if after else "d"
    steps = ((90, 1, "just now" if after else "now"), (5400, 60, "min"), (129600, 3600, "h"), (5184000, 86400, days))
    words = at.strftime("%Y-%m-%d")
    for limit, unit, name in steps:
        if -60 < passed < limit:
            words = name if unit == 1 else f"{round(passed / unit)} {name} {after}".strip()
            break
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        at.isoformat(),
        at.strftime("%Y-%m-%d %H:%M:%S"),
        words,
    )


@register.filter
def harmless(value: Any) -> SafeString:
    """Text of a transcript: control sequences stripped, secrets masked, everything escaped."""
    return masked_html(plain(str(value)))


@register.filter
def ticked(text: str) -> SafeString:
    """A sentence of Suture's own whose commands stand between backticks."""
    pieces = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", one) if at % 2 else one,) for at, one in pieces))


@register.filter
def json_code(value: Any) -> SafeString:
    """Stored JSON as highlighted code (classes only), escaped, secrets masked."""
    return highlighted(str(value))


@register.simple_block_tag
def tight(content: str) -> SafeString:
    """Markup whose white space is folded: a long table is a fifth smaller."""
    return SafeString(_SPACES.sub(" ", content))


@register.filter
def dictkey(mapping: Any, key: str) -> Any:
    """A value whose key is no template name ("at-risk")."""
    return mapping.get(key, "") if isinstance(mapping, dict) else ""
