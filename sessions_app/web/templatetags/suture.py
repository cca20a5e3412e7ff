"""Template tags and filters: shapes and words of states, sizes, times, and text of transcripts made harmless."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from sessions_app.web import present
from sessions_app.web.text import highlighted, masked_html, plain

register = template.Library()

_LOOKS = {
    "health": present.HEALTH,
    "severity": present.SEVERITY,
    "safety": present.SAFETY,
    "repair": present.REPAIR,
    "job": present.JOB,
    "status": present.TOOL_STATUS,
    "probe": present.PROBE,
    "compaction": present.COMPACTION,
}


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, extra: str = "") -> SafeString:
    """A symbol of the sprite. Decorative: the word beside it carries the meaning."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        extra,
        static("img/sprite.svg"),
        name,
    )


@register.simple_tag
def badge(family: str, state: str, extra: str = "") -> SafeString:
    """The badge of a state: shape, word, colour. A state nobody knows still says its own name."""
    look = _LOOKS[family].get(state) or present.UNKNOWN._replace(word=str(state) or "Unknown")
    spin = "spin" if look.shape == "working" else ""
    return format_html(
        '<span class="badge tone-{} {}">{}{}</span>', look.tone, extra, icon(look.shape, spin), look.word
    )


@register.filter
def health_word(health: str) -> str:
    """A health inside a sentence: "at risk"."""
    return present.HEALTH[health].word.lower() if health in present.HEALTH else health


@register.filter
def certainty(word: str) -> str:
    """How well a provider's words are known."""
    return present.CERTAINTY.get(word, word)


@register.filter
def protocol_name(protocol: str) -> str:
    return present.PROTOCOL.get(protocol, protocol)


@register.filter
def size(count: Any) -> str:
    """Bytes or characters in words, base 1024."""
    try:
        value = float(count)
    except (TypeError, ValueError):
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return ""


@register.filter
def thousands(count: Any) -> str:
    return f"{count:,}" if isinstance(count, int) else str(count)


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
    """A datetime, or milliseconds since the epoch as opencode stores them; None for what is no time."""
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return dt.datetime.fromtimestamp(value / 1000, tz=dt.UTC)
        except (OverflowError, OSError, ValueError):
            return None
    return None


@register.filter
def when(value: Any) -> SafeString | str:
    """An absolute time in UTC as a <time> element."""
    at = moment(value)
    if at is None:
        return "unknown time"
    return format_html('<time datetime="{}">{} UTC</time>', at.isoformat(), at.strftime("%Y-%m-%d %H:%M"))


register.simple_tag(when, name="when")


@register.simple_tag(takes_context=True)
def ago(context: template.Context, value: Any) -> SafeString | str:
    """A time relative to the request's clock; the absolute time is in its title."""
    at, now = moment(value), context.get("now")
    if at is None:
        return "never"
    if now is None:
        return when(value)
    passed = (now - at).total_seconds()
    steps = ((90, 1, "just now"), (5400, 60, "min"), (129600, 3600, "h"), (5184000, 86400, "days"))
    words = at.strftime("%Y-%m-%d")
    for limit, unit, name in steps:
        if -60 < passed < limit:
            words = name if unit == 1 else f"{round(passed / unit)} {name} ago"
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
def unmasked(value: Any) -> SafeString:
    """As ``harmless``, with what looks like a key left readable: only for who asked for it, which is audited."""
    return escape(plain(str(value)))


@register.filter
def json_code(value: Any) -> SafeString:
    """Stored JSON as highlighted code (classes only), escaped, secrets masked."""
    return highlighted(str(value))


@register.filter
def plural(count: Any, words: str = "s") -> str:
    """``{{ n }} turn{{ n|plural }}``; ``"y,ies"`` gives both endings."""
    one, _, many = words.rpartition(",")
    return one if count == 1 else many


@register.simple_tag
def copy_button(text: str, name: str) -> SafeString:
    """A button that copies ``text``; ``name`` completes "Copy ..."."""
    return format_html(
        '<button type="button" class="copy" data-copy="{}" aria-label="Copy {}">{}</button>',
        text,
        name,
        icon("copy"),
    )


@register.filter
def dictkey(mapping: Any, key: str) -> Any:
    """A value whose key is no template name ("at-risk")."""
    return mapping.get(key, "") if isinstance(mapping, dict) else ""
