"""Compactions that loop or cut a turn (docs/contract/rules.md#2.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sessions_app.domain.model import CompactionPart, Message, TextPart
from sessions_app.domain.repair import Edit

from .content import blank, holds_answer
from .context import Context
from .finding import Choice, Finding, lossy, safe
from .operations import delete_message, edit_part
from .registration import rule

LOOP = 2
"""Failed compactions in a row from which on it is a loop."""
NO_GAIN = 3
"""Finished summaries in a row with nothing said in between."""
_SHRINK = "Shrink the cause as well: huge outputs and images (huge-output, media-rejected)."


@dataclass(frozen=True, slots=True)
class Attempted:
    """One compaction: the user message with the ``compaction`` part, and the summaries that answer it."""

    trigger: Message
    part: CompactionPart
    summaries: tuple[Message, ...]

    @property
    def good(self) -> bool:
        """One of its summaries closes history."""
        return any(finished(summary) for summary in self.summaries)

    @property
    def told(self) -> bool:
        """It closes history with a summary that says something."""
        return self.good and any(text_of(summary).strip() for summary in self.summaries)

    @property
    def failed(self) -> bool:
        """It was answered, and by errors only."""
        return bool(self.summaries) and all(summary.error is not None for summary in self.summaries)


def is_summary(message: Message) -> bool:
    """A V1 answer that is marked as the summary of a compaction."""
    return message.is_assistant and message.data.get("summary") is True


def finished(summary: Message) -> bool:
    """It closes history (docs/contract/wire.md#6.1.2)."""
    return bool(summary.data.get("finish")) and summary.error is None


def text_of(message: Message) -> str:
    """All the text of a message."""
    return "".join(part.text for part in message.parts if isinstance(part, TextPart) and isinstance(part.text, str))


def compactions(context: Context) -> list[Attempted]:
    """The V1 compactions in order."""
    return [] if context.v2 else attempted(context.messages)


def attempted(messages: Sequence[Message]) -> list[Attempted]:
    """The compactions of a V1 history, in order."""
    answers: dict[str, list[Message]] = defaultdict(list)
    for one in messages:
        if is_summary(one) and one.parent_id:
            answers[one.parent_id].append(one)
    found = []
    for message in messages:
        part = next((part for part in message.parts if isinstance(part, CompactionPart)), None)
        if message.is_user and part is not None:
            found.append(Attempted(message, part, tuple(answers.get(message.id, ()))))
    return found


def only_trigger(message: Message) -> bool:
    """A compaction's trigger that holds nothing a user wrote."""
    return all(isinstance(part, CompactionPart) for part in message.parts)


@rule("compaction-loop", severity="blocked", safety="safe", needs="compaction summary")
def find_loop(context: Context) -> Iterator[Finding]:
    """Runs of failed compactions, and runs of summaries with nothing said in between."""
    for run in _failed_runs(context):
        yield _failed_run(context, run)
    summaries: list[Message] = []
    for message in [*context.messages, None]:
        if message is not None and is_summary(message):
            summaries.append(message)
        elif message is None or _says_something(message):
            good = [summary for summary in summaries if finished(summary)]
            if len(good) >= NO_GAIN:
                yield _no_gain(context, good)
            summaries = []


def _says_something(message: Message) -> bool:
    """A real prompt or answer; compaction triggers and the client's own "continue" say nothing."""
    if message.is_user:
        return any(isinstance(part, TextPart) and not part.synthetic and not blank(part.text) for part in message.parts)
    return message.is_assistant and holds_answer(message)


def _failed_runs(context: Context) -> Iterator[list[Attempted]]:
    run: list[Attempted] = []
    for attempt in [*compactions(context), None]:
        if attempt is not None and attempt.failed and (not run or _adjacent(context, run[-1], attempt)):
            run.append(attempt)
            continue
        if len(run) >= LOOP:
            yield run
        run = [attempt] if attempt is not None and attempt.failed else []


def _adjacent(context: Context, one: Attempted, other: Attempted) -> bool:
    between = context.messages[context.places[one.trigger.id] + 1 : context.places[other.trigger.id]]
    return not any(_says_something(message) and not is_summary(message) for message in between)


def _failed_run(context: Context, run: list[Attempted]) -> Finding:
    gone = [message for attempt in run for message in (*attempt.summaries, attempt.trigger)]
    kept = [attempt.trigger.id for attempt in run if not only_trigger(attempt.trigger)]
    said = any(is_summary(message) and not blank(text_of(message)) for message in gone)
    remove = [delete_message(one, "a failed compaction of a loop") for one in gone if one.id not in kept]
    choice = lossy if said else safe
    return context.finding(
        f"{len(run)} compactions failed in a row",
        choice("remove-run", "Remove the failed summaries and their triggers", *remove),
        messages=gone,
        details={"count": len(run), "hint": _SHRINK},
    )


def _no_gain(context: Context, good: list[Message]) -> Finding:
    *older, newest = good
    parents = dict.fromkeys(summary.parent_id or "" for summary in older if summary.parent_id != newest.parent_id)
    held = [context.messages_by_id[parent] for parent in parents if parent in context.messages_by_id]
    gone = [*older, *(one for one in held if one.is_user and only_trigger(one))]
    remove = [delete_message(one, "a summary that a later one repeats") for one in gone]
    return context.finding(
        f"{len(good)} compactions in a row gained nothing; {newest.id} is the newest summary",
        lossy("remove-run", "Remove the older summaries and their triggers; the newest stays", *remove),
        messages=good,
        details={"count": len(good), "kept": newest.id, "hint": _SHRINK},
        mark="no-gain",
    )


@rule("compaction-cuts-tool-pair", severity="blocked", safety="safe", needs="compaction")
def find_cut_pair(context: Context) -> Iterator[Finding]:
    """A kept tail that begins inside a turn; V1 keeps a call and its result in one part, so only the verdict says if it
    matters."""
    for attempt in compactions(context):
        tail = context.messages_by_id.get(attempt.part.tail_start_id or "")
        turn = context.turn_of(tail) if tail is not None and tail.is_assistant and attempt.good else None
        if tail is None or turn is None or turn.user is None:
            continue
        move = edit_part(attempt.part, (Edit(("tail_start_id",), turn.user.id),), "a tail begins with a prompt")
        yield context.finding(
            f"The kept tail begins inside a turn, at {tail.id}",
            safe("move", f"Begin the tail at {turn.user.id}, the start of the turn", move),
            messages=[attempt.trigger, tail],
            parts=[attempt.part],
            severity="info",
            refusal=context.refusal("compaction-cuts-tool-pair", "role-order", messages=[tail], parts=tail.parts),
            details={"tail_start_id": tail.id, "turn": turn.user.id},
        )
    yield from _second_triggers(context)


def _second_triggers(context: Context) -> Iterator[Finding]:
    """A compaction without a tail right after one with a tail: what the first wanted kept is cut away
    (docs/contract/rules.md#2.5)."""
    for first, second in pairwise(compactions(context)):
        tail = context.messages_by_id.get(first.part.tail_start_id or "")
        if tail is None or second.part.tail_start_id or not _adjacent(context, first, second):
            continue
        yield context.finding(
            f"{second.trigger.id} compacts again right after {first.trigger.id} and does not keep its tail",
            *_second_choices(context, second, tail),
            messages=[second.trigger, first.trigger],
            parts=[second.part],
            severity="info",
            refusal=context.refusal(messages=[second.trigger]),
            details={"tail_start_id": tail.id},
            mark="second",
        )


def _second_choices(context: Context, second: Attempted, tail: Message) -> list[Choice]:
    if second.summaries:
        turn = context.turn_of(tail)
        start = turn.user if turn is not None and turn.user is not None else tail
        keep = edit_part(second.part, (Edit(("tail_start_id",), start.id),), "the first one kept this tail")
        return [safe("keep-tail", f"Keep the tail from {start.id} here too", keep)]
    if only_trigger(second.trigger):
        remove = delete_message(second.trigger, "a second trigger right after the first")
        return [safe("remove", "Remove the second trigger", remove)]
    return []
