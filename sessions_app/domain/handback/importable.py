"""What the client's import takes (docs/contract/formats.md#a5): it checks every message and part against its schema and
stops at the first that fails."""

from __future__ import annotations

from sessions_app.domain.dialects.opencode_v1_schema import message_fault, part_fault
from sessions_app.domain.model import Message, Part
from sessions_app.domain.rules.undecodable import KNOWN_KINDS


def message_refusal(message: Message) -> str:
    """Why the client's import would stop at this message, "" where it takes it."""
    if message.fault is not None:
        return message.fault.reason
    fault = message_fault(message.id, message.data)
    return fault.reason if fault else ""


def part_refusal(part: Part) -> str:
    """Why the client's import would stop at this part, "" where it takes it."""
    if part.fault is not None:
        return part.fault.reason
    if part.kind not in KNOWN_KINDS:
        return f"unknown kind {part.kind!r}"
    fault = part_fault(part.id, part.kind, part.data)
    return fault.reason if fault else ""
