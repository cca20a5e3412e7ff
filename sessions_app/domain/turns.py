"""Turns, steps and attempts.

A turn is a user message with everything that answers it; a step the parts of one provider response; an attempt one try
of a step. A retry writes a new ``step-start`` behind what the failed try left, so two of them without a ``step-finish``
between say that the first attempt failed. Only V1 rows mark steps; a V2 assistant row is one step with one attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .model import Message, Part, StepFinishPart, StepStartPart, ToolPart


@dataclass(slots=True)
class Turn:
    """``user`` is None for what stands before the first user message. ``answers`` are the other messages, in stored
    order."""

    user: Message | None
    answers: list[Message] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """The user message and its answers."""
        return self.answers if self.user is None else [self.user, *self.answers]


@dataclass(slots=True)
class Attempt:
    """Parts from a ``step-start`` up to the next. ``failed``: another attempt of the same step follows, so these parts
    are leftovers."""

    parts: list[Part]
    failed: bool = False

    @property
    def start(self) -> StepStartPart | None:
        """None for parts that no ``step-start`` opened."""
        first = self.parts[0]
        return first if isinstance(first, StepStartPart) else None

    @property
    def finish(self) -> StepFinishPart | None:
        """The ``step-finish`` that closed it, None where it was cut off."""
        return next((part for part in self.parts if isinstance(part, StepFinishPart)), None)

    @property
    def executed(self) -> bool:
        """Whether one of its tools may have run."""
        return any(isinstance(part, ToolPart) and part.executed for part in self.parts)


@dataclass(slots=True)
class Step:
    """One provider response: the attempts that failed, and the last one."""

    message: Message
    attempts: list[Attempt]

    @property
    def last(self) -> Attempt:
        """The attempt that counts."""
        return self.attempts[-1]

    @property
    def parts(self) -> list[Part]:
        """The parts of all its attempts."""
        return [part for attempt in self.attempts for part in attempt.parts]


def turns(messages: Sequence[Message]) -> list[Turn]:
    """The turns of a history, in the order of their user messages.

    An assistant message belongs to the user message its ``parentID`` names, where that stands before it (a prompt that
    was queued meanwhile does not take it over); everything else to the user message before it.
    """
    result: list[Turn] = []
    by_user: dict[str, Turn] = {}
    for message in messages:
        if message.is_user:
            turn = by_user[message.id] = Turn(message)
            result.append(turn)
            continue
        parent = by_user.get(message.parent_id or "")
        if parent is None:
            if not result:
                result.append(Turn(None))
            parent = result[-1]
        parent.answers.append(message)
    return result


def attempts(message: Message) -> list[Attempt]:
    """The attempts of a message in order; none where it has no parts. Parts before the first ``step-start`` are an
    attempt too."""
    return [attempt for step in steps(message) for attempt in step.attempts]


def steps(message: Message) -> list[Step]:
    """The steps of a message in order."""
    result: list[Step] = []
    for parts in _cut(message.parts):
        attempt = Attempt(parts)
        before = result[-1].last if result else None
        if before is None or before.finish is not None or before.start is None or attempt.start is None:
            result.append(Step(message, [attempt]))
        else:
            before.failed = True
            result[-1].attempts.append(attempt)
    return result


def _cut(parts: Iterable[Part]) -> list[list[Part]]:
    """Parts cut in front of every ``step-start``."""
    groups: list[list[Part]] = []
    for part in parts:
        if not groups or isinstance(part, StepStartPart):
            groups.append([])
        groups[-1].append(part)
    return groups
