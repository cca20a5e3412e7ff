"""What is left to read of a session: no safe repair takes the last message that its client can still read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .context import Context
from .finding import Choice, Finding

_WHY = "it is the last message that can be read"


def sparing(context: Context, findings: Sequence[Finding]) -> list[Finding]:
    """The findings; where their safe choices together would delete every message that can be read, the newest of these
    is deleted by lossy choices only."""
    doomed = {gone for finding in findings for choice in finding.choices for gone in _deleted(choice)}
    readable = [message.id for message in context.messages if message.fault is None or not message.fault.fatal]
    if not readable or not doomed.issuperset(readable):
        return list(findings)
    return [spared(finding, readable[-1], _WHY) for finding in findings]


def spared(finding: Finding, kept: str, why: str) -> Finding:
    """The finding; where one of its safe choices deletes the message ``kept``, that choice has to be asked for, and
    says why."""
    if not any(kept in _deleted(choice) for choice in finding.choices):
        return finding
    choices = tuple(
        replace(choice, safety="lossy", label=f"{choice.label} ({why})") if kept in _deleted(choice) else choice
        for choice in finding.choices
    )
    safety = finding.safety if finding.safety == "manual" else choices[0].safety
    return replace(finding, choices=choices, safety=safety)


def _deleted(choice: Choice) -> set[str]:
    """The messages that a safe choice deletes."""
    if choice.safety != "safe":
        return set()
    return {one.message_id for one in choice.operations if one.action == "delete" and one.subject == "message"}
