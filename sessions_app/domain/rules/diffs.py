"""Whole patches that a row keeps for the client's list of changed files (docs/contract/rules.md#huge-summary-diffs)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.jsjson import loads
from sessions_app.domain.jsonedit import EditError, edit, items_at, raw_at
from sessions_app.domain.model import V1, Message
from sessions_app.domain.repair import Edit, Operation

from .context import Context
from .finding import Finding, safe
from .operations import edit_message, edit_session
from .registration import rule

HUGE_DIFFS = 100 * 1024
"""Characters of patches in one row: beyond what reviewing a turn's changes takes."""
HUGE_TOGETHER = 4 * 1024 * 1024
"""Characters of patches in all rows of a session, each of them ordinary."""
SMALL_DIFFS = 4 * 1024
"""Characters of patches in a row that are not worth dropping."""
_PLACE = ("summary", "diffs")
_TEXTS = ("patch", "before", "after", "diff")
"""Members of a changed file that hold its text: ``patch`` since 1.3, ``before`` and ``after`` in older rows."""


@rule("huge-summary-diffs", severity="at-risk", safety="safe")
def find(context: Context) -> Iterator[Finding]:
    """Rows that hold the texts of changed files: never sent, but read whenever the client opens the session."""
    stored = [(message, _characters(diffs)) for message in context.session.history(V1) if (diffs := _diffs(message))]
    column = _column(context)
    own = _characters(column)
    together = own + sum(size for _, size in stored)
    least = SMALL_DIFFS if together > HUGE_TOGETHER else HUGE_DIFFS
    rows = [(message, size) for message, size in stored if size > least]
    why = "read at every opening, and never sent"
    operations = [done for message, _ in rows if (done := _slim_message(message, why)) is not None]
    if own > least:
        operations.append(edit_session({"summary_diffs": _slim(context.row["summary_diffs"], column)}, why))
    if not operations:
        return
    held = sum(size for _, size in rows) + (own if own > least else 0)
    hold = f"{len(operations)} rows hold" if len(operations) > 1 else "One row holds"
    yield context.finding(
        f"{hold} {held:,} characters of whole patches, which the client reads each time it opens the session",
        safe("drop-patches", "Drop the texts of the patches; files and counts of lines stay", *operations),
        messages=[message for message, _ in rows],
        details={"characters": held, "rows": len(operations), "largest": max(own, *(size for _, size in rows), 0)},
        mark="diffs",
    )


def _diffs(message: Message) -> list[Any]:
    summary = message.data.get("summary")
    diffs = summary.get("diffs") if isinstance(summary, dict) else None
    return diffs if isinstance(diffs, list) else []


def _column(context: Context) -> list[Any]:
    """The diffs that the session's own row holds."""
    stored = context.row.get("summary_diffs")
    if not isinstance(stored, str) or len(stored) <= SMALL_DIFFS:
        return []
    try:
        value = loads(stored)
    except ValueError:
        return []
    return value if isinstance(value, list) else []


def _characters(diffs: list[Any]) -> int:
    return sum(len(diff[name]) for diff in diffs if isinstance(diff, dict) for name in _held(diff))


def _held(diff: dict[str, Any]) -> list[str]:
    """Members of a changed file that hold text."""
    return [name for name in _TEXTS if isinstance(diff.get(name), str) and diff[name]]


def _slim_message(message: Message, why: str) -> Operation | None:
    try:
        text = _slim(raw_at(message.row["data"], _PLACE), _diffs(message))
    except EditError:  # what is read as JSON elsewhere, and cannot be edited, is left as it is
        return None
    return edit_message(message, (Edit(_PLACE, text, raw=True),), why)


def _slim(raw: str, diffs: list[Any]) -> str:
    """The array's text, the texts in each of its items empty: one edit of the row, however many items there are."""
    items = zip(items_at(raw, ()), diffs, strict=True)
    slim = (
        edit(item, [Edit((name,), "") for name in _held(diff)]) if isinstance(diff, dict) else item
        for item, diff in items
    )
    return f"[{','.join(slim)}]"
