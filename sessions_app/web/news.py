"""What became new in a list that was left open, in one line.

The page carries what it showed as a short text: how many sessions of each health its other conditions left, and a mark
of each of its rows. Whoever asks later is told what is different from that.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from zlib import crc32

from sessions_app.models import Session
from sessions_app.selectors.sessions import SessionPage, SessionRow

from .present import counted

_MARK = 4
"""Characters of a row's mark."""


def seen(found: SessionPage) -> str:
    """What a page of the list shows."""
    tally = ".".join(str(one.count) for one in found.tally)
    return f"{tally}~{''.join(_mark(row) for row in found.page.rows)}"


def news(before: str, found: SessionPage) -> str:
    """What is different now from what was ``seen`` before, in words; "" = nothing, or nobody can tell."""
    counts, _, shown = before.partition("~")
    numbers = counts.split(".")
    if len(numbers) != len(found.tally) or not all(one.isdecimal() and len(one) < 12 for one in numbers):
        return ""
    more = {now.health: now.count - int(then) for now, then in zip(found.tally, numbers, strict=True)}
    known = {shown[at : at + _MARK] for at in range(0, len(shown), _MARK)}
    changed = sum(_mark(row) not in known for row in found.page.rows)
    total, blocked = sum(more.values()), more[Session.Health.BLOCKED]
    changed = max(changed - max(total, 0), max(map(abs, more.values())) if not total else 0)
    said = [f"{counted(changed, 'session')} changed"] if changed else []
    said += [f"{total:,} new" if total > 0 else f"{-total:,} gone"] if total else []
    said += [f"{blocked:,} newly blocked" if blocked > 0 else f"{-blocked:,} no longer blocked"] if blocked else []
    return ", ".join(said)


def _mark(row: SessionRow) -> str:
    told = (row.id, row.title, row.health, row.stale, row.blocked, row.at_risk, row.fate, row.parts, row.missing)
    state = crc32(repr((*told, row.time_updated, row.repaired_at)).encode("utf-8", "replace"))
    return urlsafe_b64encode(state.to_bytes(4))[:_MARK].decode()
