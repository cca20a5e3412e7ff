"""How a state looks: shape, word and tone, in that order of importance (no state is told by colour alone).

Shapes are symbols of ``static/img/sprite.svg``; tones are the ``tone-*`` and ``ink-*`` classes of ``css/c/state.css``.
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.text import capfirst

from sessions_app.domain.model import V1, V2
from sessions_app.selectors.filterfields import PROTOCOL_WORDS


class Look(NamedTuple):
    shape: str
    word: str
    tone: str


class Segment(NamedTuple):
    """One of a few choices side by side."""

    word: str
    url: str
    current: bool


UNKNOWN = Look("unscanned", "Unknown", "unknown")

HEALTH: dict[str, Look] = {
    "blocked": Look("blocked", "Blocked", "blocked"),
    "at-risk": Look("risk", "At risk", "risk"),
    "healthy": Look("healthy", "Healthy", "healthy"),
    "unreadable": Look("unreadable", "Unreadable", "blocked"),
    "not-scanned": Look("unscanned", "Not scanned", "unknown"),
    "stale": Look("unscanned", "Changed since scan", "unknown"),
    "scanning": Look("working", "Scanning", "repaired"),
}

SEVERITY: dict[str, Look] = {
    "blocked": Look("blocked", "Blocks", "blocked"),
    "at-risk": Look("risk", "At risk", "risk"),
    "info": Look("info", "Info", "unknown"),
}

SAFETY: dict[str, Look] = {
    "safe": Look("healthy", "Safe", "healthy"),
    "lossy": Look("risk", "Needs a choice: drops something", "risk"),
    "manual": Look("info", "Done by hand", "unknown"),
}

FATE: dict[str, Look] = {
    "safe": Look("mend", "Safe", "healthy"),
    "lossy": Look("risk", "By choice", "risk"),
    "manual": Look("info", "By hand", "unknown"),
}
"""A safety in a narrow column."""

REPAIR: dict[str, Look] = {
    "applied": Look("repaired", "Applied", "repaired"),
    "undone": Look("undo", "Undone", "unknown"),
    "failed": Look("blocked", "Failed", "blocked"),
    "planned": Look("working", "In progress", "repaired"),
}

JOB: dict[str, Look] = {
    "queued": Look("unscanned", "Waiting", "unknown"),
    "running": Look("working", "Running", "repaired"),
    "done": Look("healthy", "Done", "healthy"),
    "failed": Look("blocked", "Failed", "blocked"),
    "cancelled": Look("undo", "Cancelled", "unknown"),
    "undoing": Look("working", "Taking back", "repaired"),
    "undone": Look("undo", "Undone", "unknown"),
}

OUTCOME: dict[str, Look] = {
    "repaired": Look("repaired", "Repaired", "repaired"),
    "nothing": Look("info", "Nothing to do", "unknown"),
    "skipped": Look("info", "Left alone", "unknown"),
    "failed": Look("blocked", "Failed", "blocked"),
}
"""What came of a session in a batch."""

PROBE: dict[str, Look] = {
    "accepted": Look("healthy", "Accepted", "healthy"),
    "refused": Look("blocked", "Refused", "blocked"),
    "failed": Look("risk", "No answer", "risk"),
}

COMPACTION: dict[str, Look] = {
    **JOB,
    "ready": Look("info", "Ready to be written", "repaired"),
    "applied": Look("healthy", "Written", "healthy"),
}

TOOL_STATUS: dict[str, Look] = {
    "completed": Look("healthy", "completed", "healthy"),
    "error": Look("risk", "error", "risk"),
    "running": Look("stuck", "running", "repaired"),
    "pending": Look("stuck", "pending", "unknown"),
    "streaming": Look("stuck", "streaming", "unknown"),
}

KIND: dict[str, Look] = {
    "text": Look("text", "Text", "text"),
    "reasoning": Look("reasoning", "Reasoning", "reasoning"),
    "tool": Look("tool", "Tool", "tool"),
    "file": Look("file", "File", "text"),
    "step-start": Look("step", "Step starts", "step"),
    "step-finish": Look("step", "Step ends", "step"),
    "patch": Look("patch", "Patch", "text"),
    "snapshot": Look("patch", "Snapshot", "text"),
    "compaction": Look("compaction", "Compaction", "text"),
    "subtask": Look("tool", "Subtask", "text"),
    "agent": Look("assistant", "Agent", "text"),
    "retry": Look("refresh", "Retry", "text"),
}

PROTOCOL = PROTOCOL_WORDS
PROVIDER = PROTOCOL_WORDS | {"anthropic-messages": "Anthropic", "bedrock-converse": "Bedrock"}
"""Protocols in a narrow column."""

HISTORY = {V1: "the 1.x client", V2: "the 2.x client"}
"""The histories that one session can hold, by dialect."""

_MARKS: tuple[tuple[str, Look], ...] = (
    ("duplicate-call-id", Look("duplicate", "Duplicate", "duplicate")),
    ("orphan-", Look("orphan", "Orphan", "orphan")),
    ("stuck-tool", Look("stuck", "Stuck", "stuck")),
    ("open-turn", Look("stuck", "Turn never ended", "stuck")),
    ("failed-attempt-leftovers", Look("leftover", "Left over from a failed attempt", "leftover")),
    ("step-boundary-lost", Look("order", "Step boundary lost", "order")),
    ("tool-ran-twice", Look("refresh", "Ran twice", "info")),
    ("id-order-skew", Look("order", "Out of order", "order")),
    ("role-order", Look("order", "Roles out of order", "order")),
    ("empty-", Look("empty", "Empty", "empty")),
    ("undecodable-row", Look("unreadable", "Does not decode", "unreadable")),
    ("corrupt-json", Look("unreadable", "Not JSON", "unreadable")),
)


ROLE: dict[str, Look] = {"user": Look("user", "User", "user"), "assistant": Look("assistant", "Assistant", "other")}

CHANGE: dict[str, Look] = {
    "removed": Look("close", "Removed", "blocked"),
    "added": Look("plus", "Added", "healthy"),
    "changed": Look("repaired", "Changed", "repaired"),
}

CHECK: dict[str, Look] = {
    "accepted": Look("healthy", "Accepted", "healthy"),
    "rejected": Look("blocked", "Refused", "blocked"),
    "refused-last": Look("blocked", "Refused at the last call", "blocked"),
    "fails": Look("blocked", "Fails", "blocked"),
    "may-fail": Look("risk", "May fail", "risk"),
}

DOUBT: dict[str, Look] = {
    word: Look("risk", word, "risk") if word == "uncertain" else Look("blocked", word, "blocked")
    for word in ("measured", "documented", "reported", "uncertain")
}
"""A provider's refusal, by how well its words are known."""

NOTICE = {"blocked": "blocked", "risk": "risk", "repaired": "healthy", "healthy": "healthy"}
"""The shape of a notice of a tone, where it says none."""

_FAMILIES: dict[str, dict[str, Look]] = {
    "health": HEALTH,
    "severity": SEVERITY,
    "safety": SAFETY,
    "fate": FATE,
    "repair": REPAIR,
    "job": JOB,
    "outcome": OUTCOME,
    "status": TOOL_STATUS,
    "probe": PROBE,
    "compaction": COMPACTION,
    "role": ROLE,
    "change": CHANGE,
    "check": CHECK,
    "certainty": DOUBT,
}


CERTAINTY = {
    "measured": "seen on the wire",
    "documented": "documented by the vendor",
    "reported": "reported by users",
    "uncertain": "not certain",
}
"""How well a provider's words are known."""


def counted(number: int, word: str) -> str:
    """ "1 session", "12 sessions", "1,200 sessions"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def look(family: str, state: object) -> Look:
    """The look of a state. One that nobody knows still says its own name."""
    return _FAMILIES[family].get(str(state)) or UNKNOWN._replace(word=str(state) or "Unknown")


def role(kind_name: str) -> Look:
    """Whose a message is; its tone says on which side it stands."""
    return ROLE.get(kind_name) or Look("part", capfirst(kind_name) or "Unreadable message", "other")


def mark(rule: str, severity: str) -> Look:
    """The shape, word and border of a finding at its part; rules without a shape of their own take their severity's."""
    for prefix, look in _MARKS:
        if rule.startswith(prefix):
            return look
    shape = SEVERITY.get(severity, UNKNOWN).shape
    return Look(shape, rule.replace("-", " ").capitalize(), "plain")


def kind(kind_name: str, role: str) -> Look:
    """A part's look; text says whose it is, and a kind this version does not know says so."""
    if kind_name == "text":
        return Look("user", "User text", "user") if role == "user" else Look("text", "Assistant text", "text")
    if not kind_name:
        return Look("unreadable", "Unreadable part", "unreadable")
    return KIND.get(kind_name) or Look("part", f"Unknown type “{kind_name}”", "text")
