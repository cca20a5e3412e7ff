"""Which V2 rows are sent again, and in which order (docs/contract/formats.md#b4, docs/contract/v2-server.md#order)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.dialects.opencode_v2.inputs import waiting_prompts
from sessions_app.domain.model import V2, Message, Session
from sessions_app.domain.wire.target import Target

from .settle_v2 import settled


@dataclass(frozen=True, slots=True)
class Replay:
    """What the server sends around the next prompt. ``after``: rows that stand above the session's number, which are
    sent behind every new prompt (docs/contract/v2-server.md#d6)."""

    before: list[Message]
    after: list[Message]


def replay_v2(session: Session, target: Target, generation: int | None = None) -> Replay:
    """The messages that the server sends to ``target`` with the next prompt: its rows, the open calls ended, then the
    prompts that wait.

    Rows whose ``generation`` is said by hand (a line of ``lower --ndjson``) are lowered as they are: a server settles
    what lies in its own store.
    """
    chosen = select_v2(session, target, generation)
    if generation is not None:
        return Replay(chosen, [])
    chosen = settled(chosen)
    known = max((message.generation for message in session.history(V2)), default=1)
    waiting = [one for one in waiting_prompts(session.rows, known) if one.data.get("delivery") == "steer"]
    number = next_number(session)
    at = sum(number is None or message.seq is None or message.seq <= number for message in chosen)
    return Replay([*chosen[:at], *waiting], chosen[at:])


def next_number(session: Session) -> int | None:
    """The ``seq`` that the next prompt's row gets, behind the number of its admission; None where nobody knows.

    A session that had a number and lost it is counted from 0 again (docs/contract/v2-server.md#d5).
    """
    rows = session.rows
    if rows.sequence is None:
        return 1 if rows.inputs else None
    number = rows.sequence.get("seq")
    return number + 2 if isinstance(number, int) else None


def select_v2(session: Session, target: Target | None, generation: int | None = None) -> list[Message]:
    """The V2 messages of ``session`` that its client replays to ``target``, by ascending ``seq``.

    ``generation`` None takes the newest among the rows: the client that writes now is the one that reads them.
    Selection is defined over ``seq``: rows that have none (a row document of messages chosen elsewhere) are all sent,
    in their order.
    """
    if any(message.seq is None for message in session.history(V2)):
        return list(session.history(V2))
    messages = sorted(session.history(V2), key=lambda message: (message.seq or 0, message.id))
    known = generation or max((message.generation for message in messages), default=1)
    if known > 1:
        return select_third(messages, target)
    stored = baseline_seq(session)
    return select_first(messages, stored if generation is not None else sending_baseline(messages, stored))


def baseline_seq(session: Session) -> int | None:
    """``baseline_seq`` of the session's epoch, None where it has none."""
    epoch = session.rows.epoch
    value = epoch.get("baseline_seq") if epoch is not None else None
    return value if isinstance(value, int) else None


def sending_baseline(messages: Sequence[Message], stored: int | None) -> float:
    """The baseline that a send reads rows with, given the epoch's: one that is missing is made at the latest number,
    one older than a compaction anew at that (docs/contract/v2-server.md#d2, #d3)."""
    if stored is None:
        return math.inf
    return max([stored, *(_seq(message) for message in messages if message.kind == "compaction")])


def select_first(messages: Sequence[Message], baseline: float | None) -> list[Message]:
    """Generation 1: everything from the latest compaction on, and newer system rows before it; system rows that the
    epoch's baseline text holds already are left out. Without a baseline nothing before the compaction is sent."""
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
