"""Which stored V1 messages are sent again, and in which order (docs/contract/wire.md#6.1.2, #c1 and #c2, #f13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.model import V1, CompactionPart, Message, Part, Session

ABORTED: Final = "MessageAbortedError"
"""The error of an answer that somebody stopped."""


def replayed(session: Session) -> list[Message]:
    """The V1 messages that the next request is made of, in the order they are sent."""
    return compacted(reverted(session.history(V1), session.revert))


def reverted(messages: Sequence[Message], revert: Any) -> list[Message]:
    """``messages`` without what a pending revert takes away before the next prompt is stored
    (docs/contract/wire.md#c1).

    ``revert`` is the session's column. Positions count in load order; an id that is not there takes nothing away. A
    column that is not JSON says nothing here: it is a fault of the session, which the client cannot load.
    """
    pending = _revert(revert)
    message_id, part_id = pending.get("messageID"), pending.get("partID")
    at = next((index for index, message in enumerate(messages) if message.id == message_id), None)
    if at is None:
        return list(messages)
    if not part_id:
        return list(messages[:at])
    kept: list[Part] = []
    for part in messages[at].parts:
        if part.id == part_id:
            break
        kept.append(part)
    return [*messages[:at], replace(messages[at], parts=kept)]


def compacted(messages: Sequence[Message]) -> list[Message]:
    """``messages`` from the last finished compaction on, with its kept tail moved behind the summary
    (docs/contract/wire.md#6.1.2)."""
    start = _start(messages)
    kept = list(messages[start:])
    for index in range(len(kept) - 1, -1, -1):
        tail_id = _tail(kept[index])
        if tail_id is None:
            continue
        tail = next((at for at, message in enumerate(kept[:index]) if message.id == tail_id), None)
        summary = next((at for at in range(index + 1, len(kept)) if _summarises(kept[at], kept[index].id)), None)
        # The newest compaction that qualifies is moved; older ones inside its tail stay where they are
        # (docs/contract/wire.md#f13).
        if tail is not None and summary is not None:
            return [*kept[index : summary + 1], *kept[tail:index], *kept[summary + 1 :]]
    return kept


def left_out(answer: Message) -> bool:
    """A failed answer is not sent again, unless it was aborted with more to show than steps and reasoning
    (docs/contract/wire.md#6.1.5)."""
    error = answer.data.get("error")
    if not error:
        return False
    aborted = isinstance(error, dict) and error.get("name") == ABORTED
    return not (aborted and any(part.kind not in ("step-start", "reasoning") for part in answer.parts))


def opens_with_task(session: Session) -> str | None:
    """The task that the client runs before the next turn: "compaction" or "subtask" (docs/contract/wire.md#c2), None
    where the turn comes first.

    The first request is not the turn then: a compaction sends a summary request, a subtask its own session's first
    turn.
    """
    task = None
    for message in reversed(replayed(session)):
        if message.is_assistant and message.data.get("finish"):
            break
        for part in message.parts:
            if part.kind in ("compaction", "subtask"):
                task = part.kind  # of several, the client takes the oldest
    return task


def _start(messages: Sequence[Message]) -> int:
    """Where the replay begins: at the newest finished compaction, or at the tail it keeps; at the front where there is
    none, or where its tail is not found."""
    summarised: set[str] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.is_user and message.id in summarised:
            compaction = _compaction(message)
            if compaction is not None:
                if compaction.tail_start_id is None:
                    return index
                return next((at for at in range(index, -1, -1) if messages[at].id == compaction.tail_start_id), 0)
        elif _finished_summary(message):
            summarised.add(message.parent_id or "")
    return 0


def _finished_summary(message: Message) -> bool:
    data = message.data
    return message.is_assistant and bool(data.get("summary")) and bool(data.get("finish")) and not data.get("error")


def _compaction(message: Message) -> CompactionPart | None:
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def _tail(message: Message) -> str | None:
    compaction = _compaction(message) if message.is_user else None
    return None if compaction is None else compaction.tail_start_id


def _summarises(message: Message, user_id: str) -> bool:
    return message.is_assistant and bool(message.data.get("summary")) and message.parent_id == user_id


def _revert(column: Any) -> dict[str, Any]:
    if isinstance(column, str):
        try:
            column = jsjson.loads(column)
        except ValueError:
            return {}
    return column if isinstance(column, dict) else {}
