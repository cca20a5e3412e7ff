"""Compactions that loop or cut a turn (rules 2.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sessions_app.domain.model import CompactionPart, Message, TextPart
from sessions_app.domain.repair import Edit

from .base import Choice, Context, Finding, Rule, refused
from .content import blank, holds_answer
from .ops import delete_message, edit_part

LOOP = 2
"""Failed compactions in a row from which on it is a loop."""
NO_GAIN = 3
"""Finished summaries in a row with nothing said in between."""


@dataclass(frozen=True, slots=True)
class Attempted:
    """One compaction: the user message with the ``compaction`` part, and the summaries that answer it."""

    trigger: Message
    part: CompactionPart
    summaries: tuple[Message, ...]

    @property
    def good(self) -> bool:
        return any(finished(summary) for summary in self.summaries)

    @property
    def failed(self) -> bool:
        return bool(self.summaries) and all(summary.error is not None for summary in self.summaries)


def is_summary(message: Message) -> bool:
    return message.is_assistant and message.data.get("summary") is True


def finished(summary: Message) -> bool:
    """It closes history (wire-rules 6.1 step 2)."""
    return bool(summary.data.get("finish")) and summary.error is None


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart) and isinstance(part.text, str))


def compactions(context: Context) -> list[Attempted]:
    """The V1 compactions in order."""
    if context.v2:
        return []
    answers: dict[str, list[Message]] = defaultdict(list)
    for one in context.messages:
        if is_summary(one) and one.parent_id:
            answers[one.parent_id].append(one)
    found = []
    for message in context.messages:
        part = next((part for part in message.parts if isinstance(part, CompactionPart)), None)
        if message.is_user and part is not None:
            found.append(Attempted(message, part, tuple(answers.get(message.id, ()))))
    return found


def find_loop(context: Context) -> Iterator[Finding]:
    """Runs of failed compactions, and runs of summaries with nothing said in between."""
    yield from _failed_runs(context)
    summaries: list[Message] = []
    for message in [*context.messages, None]:
        if message is not None and is_summary(message):
            summaries.append(message)
            continue
        if message is not None and not _says_something(message):
            continue
        good = [summary for summary in summaries if finished(summary)]
        if len(good) >= NO_GAIN:
            yield _no_gain(context, good)
        summaries = []


def _says_something(message: Message) -> bool:
    """A real prompt or answer; compaction triggers and the client's own "continue" say nothing."""
    if message.is_user:
        return any(isinstance(part, TextPart) and not part.synthetic and not blank(part.text) for part in message.parts)
    return message.is_assistant and holds_answer(message)


def _failed_runs(context: Context) -> Iterator[Finding]:
    run: list[Attempted] = []
    places = {message.id: index for index, message in enumerate(context.messages)}
    for attempt in [*compactions(context), None]:
        if attempt is not None and attempt.failed and (not run or _adjacent(context, places, run[-1], attempt)):
            run.append(attempt)
            continue
        if len(run) >= LOOP:
            yield _failed_run(run)
        run = [attempt] if attempt is not None and attempt.failed else []


def _adjacent(context: Context, places: dict[str, int], one: Attempted, other: Attempted) -> bool:
    between = context.messages[places[one.trigger.id] + 1 : places[other.trigger.id]]
    return not any(_says_something(message) and not is_summary(message) for message in between)


def _failed_run(run: list[Attempted]) -> Finding:
    gone = [message for attempt in run for message in (*attempt.summaries, attempt.trigger)]
    said = [message for message in gone if is_summary(message) and not blank(text_of(message))]
    own = [
        attempt.trigger
        for attempt in run
        if any(not isinstance(part, CompactionPart) for part in attempt.trigger.parts)
    ]
    removable = [message for message in gone if message not in own]
    why = "a failed compaction of a loop"
    return Finding(
        "compaction-loop",
        "at-risk",
        "lossy" if said else "safe",
        tuple(message.id for message in gone),
        (),
        f"{len(run)} compactions failed in a row",
        {
            "count": len(run),
            "hint": "Shrink the cause as well: huge outputs and images (huge-output, media-rejected).",
        },
        (
            Choice(
                "remove-run",
                "Remove the failed summaries and their triggers",
                "lossy" if said else "safe",
                tuple(delete_message(one, why) for one in removable),
            ),
        ),
    )


def _no_gain(context: Context, good: list[Message]) -> Finding:
    *older, newest = good
    parents = dict.fromkeys(summary.parent_id or "" for summary in older if summary.parent_id != newest.parent_id)
    triggers = [
        one
        for parent in parents
        if (one := context.messages_by_id.get(parent)) is not None
        and one.is_user
        and all(isinstance(part, CompactionPart) for part in one.parts)
    ]
    gone = [*older, *triggers]
    why = "a summary that a later one repeats"
    return Finding(
        "compaction-loop",
        "at-risk",
        "lossy",
        tuple(message.id for message in good),
        (),
        f"{len(good)} compactions in a row gained nothing; {newest.id} is the newest summary",
        {
            "count": len(good),
            "kept": newest.id,
            "hint": "Shrink the cause as well: huge outputs and images (huge-output, media-rejected).",
        },
        (
            Choice(
                "remove-run",
                "Remove the older summaries and their triggers; the newest stays",
                "lossy",
                tuple(delete_message(one, why) for one in gone),
            ),
        ),
        mark="no-gain",
    )


def find_cut_pair(context: Context) -> Iterator[Finding]:
    """A kept tail that begins inside a turn; V1 keeps a call and its result in one part, so only the verdict says if it
    matters."""
    for attempt in compactions(context):
        tail_id = attempt.part.tail_start_id
        tail = context.messages_by_id.get(tail_id) if tail_id else None
        if tail is None or not tail.is_assistant or not attempt.good:
            continue
        turn = next((turn for turn in context.turns if tail in turn.answers), None)
        violation = context.refusal(
            "compaction-cuts-tool-pair",
            "role-order",
            messages=(tail.id,),
            parts=[part.id for part in tail.parts],
        )
        if turn is None or turn.user is None:
            continue
        operation = edit_part(attempt.part, (Edit(("tail_start_id",), turn.user.id),), "a tail begins with a prompt")
        yield Finding(
            "compaction-cuts-tool-pair",
            "blocked" if violation else "info",
            "safe",
            (attempt.trigger.id, tail.id),
            (attempt.part.id,),
            f"The kept tail begins inside a turn, at {tail.id}",
            {"tail_start_id": tail.id, "turn": turn.user.id, **refused(violation)},
            (Choice("move", f"Begin the tail at {turn.user.id}, the start of the turn", "safe", (operation,)),),
        )

    yield from _second_triggers(context)


def _second_triggers(context: Context) -> Iterator[Finding]:
    """A compaction without a tail right after one with a tail: what the first wanted kept is cut away (rules 2.5,
    oc#27594)."""
    places = {message.id: index for index, message in enumerate(context.messages)}
    for first, second in pairwise(compactions(context)):
        tail = context.messages_by_id.get(first.part.tail_start_id or "")
        if tail is None or second.part.tail_start_id or not _adjacent(context, places, first, second):
            continue
        violation = context.refusal("compaction-cuts-tool-pair", messages=(second.trigger.id,))
        turn = next((turn for turn in context.turns if tail in turn.answers), None)
        start = turn.user if turn is not None and turn.user is not None else tail
        choices: tuple[Choice, ...] = ()
        if second.summaries:
            operation = edit_part(second.part, (Edit(("tail_start_id",), start.id),), "the first one kept this tail")
            choices = (Choice("keep-tail", f"Keep the tail from {start.id} here too", "safe", (operation,)),)
        elif all(isinstance(part, CompactionPart) for part in second.trigger.parts):
            operation = delete_message(second.trigger, "a second trigger right after the first")
            choices = (Choice("remove", "Remove the second trigger", "safe", (operation,)),)
        yield Finding(
            "compaction-cuts-tool-pair",
            "blocked" if violation else "info",
            "safe" if choices else "manual",
            (second.trigger.id, first.trigger.id),
            (second.part.id,),
            f"{second.trigger.id} compacts again right after {first.trigger.id} and does not keep its tail",
            {"tail_start_id": tail.id, **refused(violation)},
            choices,
            mark="second",
        )


RULES = (
    Rule(
        "compaction-loop",
        "Compaction again and again",
        "blocked",
        "safe",
        what="Several compactions in a row failed, or gained nothing.",
        rejected='Often with "prompt is too long" or "Session too large to compact" each time.',
        why="One huge output or image makes every attempt fail the same way.",
        repair=(
            "The run of failed summaries and their triggers is removed; the newest good summary always stays. Shrink"
            " the cause as well: see huge-output and media-rejected."
        ),
        order=150,
        find=find_loop,
    ),
    Rule(
        "compaction-cuts-tool-pair",
        "A compaction that cuts a turn",
        "blocked",
        "safe",
        what="The kept tail begins inside a turn, between a call and what belongs to it.",
        rejected=(
            'Anthropic: "`tool_use` ids were found without `tool_result` blocks"; Gemini and Mistral: order of roles.'
            " Anthropic merges equal roles."
        ),
        why="The tail was counted in messages or tokens, not in turns.",
        repair=(
            "tail_start_id moves to the start of the turn: the model sees a little more. Where the target accepts it,"
            " it is only offered."
        ),
        order=158,
        find=find_cut_pair,
    ),
)
