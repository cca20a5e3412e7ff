"""Which V2 rows are sent again, and in which order (docs/contract/formats.md#b4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessions_app.domain.model import V2, Message, Session
from sessions_app.domain.wire.target import Target


def select_v2(session: Session, target: Target, generation: int | None = None) -> list[Message]:
    """The V2 messages of ``session`` that its client replays to ``target``, by ascending ``seq``.

    ``generation`` None takes the newest among the rows: the client that writes now is the one that reads them.
    Selection is defined over ``seq``: rows that have none (a row document of messages chosen elsewhere) are all sent,
    in their order.
    """
    if any(message.seq is None for message in session.history(V2)):
        return list(session.history(V2))
    messages = sorted(session.history(V2), key=lambda message: (message.seq or 0, message.id))
    known = generation or max((message.generation for message in messages), default=1)
    if known <= 1:
        return select_first(messages, baseline_seq(session))
    return select_third(messages, target)


def baseline_seq(session: Session) -> int | None:
    """``baseline_seq`` of the session's epoch, None where it has none."""
    epoch = session.rows.epoch
    value = epoch.get("baseline_seq") if epoch is not None else None
    return value if isinstance(value, int) else None


def select_first(messages: Sequence[Message], baseline: int | None) -> list[Message]:
    """Generation 1: everything from the latest compaction on, and newer system rows before it; system rows that the
    epoch's baseline text holds already are left out. Without an epoch nothing before the compaction is sent."""
    cut = max((_seq(message) for message in messages if message.kind == "compaction"), default=None)
    chosen = []
    for message in messages:
        seq = _seq(message)
        keep = seq > baseline if message.kind == "system" and baseline is not None else cut is None or seq >= cut
        if keep:
            chosen.append(message)
    return chosen


def select_third(messages: Sequence[Message], target: Target | None) -> list[Message]:
    """Generations 2 and 3: everything from the latest completed compaction on that ``target`` can replay; checkpoints
    made by another provider for itself are left out."""
    usable = [message for message in messages if not is_checkpoint(message) or replayable(message, target)]
    cut = max((_seq(message) for message in usable if _completed(message)), default=None)
    return [message for message in usable if cut is None or _seq(message) >= cut]


def replayable(message: Message, target: Target | None) -> bool:
    """Whether ``target`` is the model that made the native checkpoint ``message`` (``providerContext.provenance``).

    Of the provenance only provider, model and protocol are compared; route and endpoint are settings of the client.
    """
    context = message.data.get("providerContext")
    provenance = context.get("provenance") if isinstance(context, dict) else None
    if target is None or not isinstance(provenance, dict):
        return False
    mine: dict[str, Any] = {
        "providerID": target.provider,
        "modelID": target.model,
        "protocol": target.protocol,
    }
    return all(provenance.get(key, value) == value for key, value in mine.items())


def _completed(message: Message) -> bool:
    return message.kind == "compaction" and message.data.get("status", "completed") == "completed"


def is_checkpoint(message: Message) -> bool:
    """Whether ``message`` is a compaction that a provider made in its own form (generation 3)."""
    return message.generation == 3 and message.kind == "compaction" and "providerContext" in message.data


def _seq(message: Message) -> int:
    return message.seq or 0
