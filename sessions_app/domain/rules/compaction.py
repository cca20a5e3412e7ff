"""Compactions that loop, failed, came out empty, or point to the wrong place (rules 2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sessions_app.domain.model import CompactionPart, Message, TextPart
from sessions_app.domain.repair import REMOVE, Edit

from .base import Choice, Context, Finding, Rule, refused
from .content import blank, holds_answer
from .ops import delete_message, edit_message, edit_part

FAILED = "This compaction summary failed (marked by Suture, so that it is not taken for unfinished work)"
EMPTY = "This compaction summary is empty (marked by Suture, so that the earlier history is sent again)"
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
    return "".join(
        part.text for part in message.parts if isinstance(part, TextPart) and isinstance(part.text, str)
    )


def compactions(context: Context) -> list[Attempted]:
    """The V1 compactions in order."""
    if context.v2:
        return []
    found = []
    for message in context.messages:
        part = next((part for part in message.parts if isinstance(part, CompactionPart)), None)
        if message.is_user and part is not None:
            answers = tuple(
                one for one in context.messages if is_summary(one) and one.parent_id == message.id
            )
            found.append(Attempted(message, part, answers))
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
        return any(
            isinstance(part, TextPart) and not part.synthetic and not blank(part.text)
            for part in message.parts
        )
    return message.is_assistant and holds_answer(message)


def _failed_runs(context: Context) -> Iterator[Finding]:
    run: list[Attempted] = []
    places = {message.id: index for index, message in enumerate(context.messages)}
    for attempt in [*compactions(context), None]:
        if (
            attempt is not None
            and attempt.failed
            and (not run or _adjacent(context, places, run[-1], attempt))
        ):
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
    triggers = [
        one for summary in older if (one := context.messages_by_id.get(summary.parent_id or "")) is not None
    ]
    triggers = [
        one for one in triggers if one.is_user and all(isinstance(part, CompactionPart) for part in one.parts)
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


def find_unfinished(context: Context) -> Iterator[Finding]:
    """A summary without finish: the client takes its compaction for unfinished work again and again."""
    for attempt in compactions(context):
        for summary in attempt.summaries:
            if summary.data.get("finish") or (
                summary.error is None and summary.completed_at is None and attempt.good
            ):
                continue
            edits = [Edit(("finish",), "error")]
            if summary.error is None:
                edits.append(Edit(("error",), {"name": "UnknownError", "data": {"message": FAILED}}))
            why = "it is over, and it failed"
            remove = tuple(delete_message(one, why) for one in (summary, attempt.trigger))
            yield Finding(
                "summary-unfinished",
                "at-risk",
                "safe",
                (summary.id, attempt.trigger.id),
                (),
                f"The summary {summary.id} {'failed' if summary.error else 'was cut off'} and has no finish, so the compaction starts again",
                {"trigger": attempt.trigger.id},
                (
                    Choice("finish", "Set finish to error", "safe", (edit_message(summary, edits, why),)),
                    Choice(
                        "remove",
                        "Remove the trigger and the failed summary, so that the next prompt can compact afresh",
                        "lossy",
                        remove,
                    ),
                ),
            )


def find_failed_with_tail(context: Context) -> Iterator[Finding]:
    for attempt in compactions(context):
        if attempt.part.tail_start_id is None or not attempt.failed:
            continue
        operation = edit_part(
            attempt.part,
            (Edit(("tail_start_id",), REMOVE),),
            "its summary failed, so nothing may be dropped before the tail",
        )
        yield Finding(
            "summary-failed-with-tail",
            "at-risk",
            "safe",
            (attempt.trigger.id, attempt.summaries[-1].id),
            (attempt.part.id,),
            f"The compaction {attempt.trigger.id} keeps a tail but its summary failed: everything before the tail is left out silently",
            {"tail_start_id": attempt.part.tail_start_id},
            (Choice("drop-tail", "Remove tail_start_id from the trigger", "safe", (operation,)),),
        )


def find_empty_summary(context: Context) -> Iterator[Finding]:
    for attempt in compactions(context):
        for summary in attempt.summaries:
            if not finished(summary) or not blank(text_of(summary)) or any(summary.tools()):
                continue
            why = "an empty summary hides the whole history"
            error = {"name": "UnknownError", "data": {"message": EMPTY}}
            remove = tuple(delete_message(one, why) for one in (summary, attempt.trigger))
            yield Finding(
                "summary-empty",
                "at-risk",
                "safe",
                (summary.id, attempt.trigger.id),
                (),
                f"The summary {summary.id} has no text, so the earlier history is lost to the model",
                {"trigger": attempt.trigger.id},
                (
                    Choice(
                        "fail",
                        "Mark the summary as failed: the earlier history is sent again",
                        "safe",
                        (edit_message(summary, (Edit(("error",), error),), why),),
                    ),
                    Choice("remove", "Remove the trigger and the empty summary", "lossy", remove),
                ),
            )


def find_cut_pair(context: Context) -> Iterator[Finding]:
    """A kept tail that begins inside a turn; V1 keeps a call and its result in one part, so only the verdict says if it matters."""
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
        operation = edit_part(
            attempt.part, (Edit(("tail_start_id",), turn.user.id),), "a tail begins with a prompt"
        )
        yield Finding(
            "compaction-cuts-tool-pair",
            "blocked" if violation else "info",
            "safe",
            (attempt.trigger.id, tail.id),
            (attempt.part.id,),
            f"The kept tail begins inside a turn, at {tail.id}",
            {"tail_start_id": tail.id, "turn": turn.user.id, **refused(violation)},
            (
                Choice(
                    "move", f"Begin the tail at {turn.user.id}, the start of the turn", "safe", (operation,)
                ),
            ),
        )


def find_wrong_flag(context: Context) -> Iterator[Finding]:
    """Summaries that do not answer a compaction, and two finished summaries of one compaction."""
    if context.v2:
        return
    attempts = {attempt.trigger.id: attempt for attempt in compactions(context)}
    places = {message.id: index for index, message in enumerate(context.messages)}
    for message in context.messages:
        if is_summary(message) and message.parent_id not in attempts and message.error is None:
            yield _misplaced(context, message, attempts, places)
    for attempt in attempts.values():
        good = [summary for summary in attempt.summaries if finished(summary)]
        for summary in good[:-1]:
            operation = edit_message(
                summary,
                (Edit(("summary",), REMOVE),),
                f"{good[-1].id} is the newer summary of the same compaction",
            )
            yield Finding(
                "summary-flag-wrong",
                "at-risk",
                "safe",
                (summary.id, attempt.trigger.id),
                (),
                f"{attempt.trigger.id} has two finished summaries, {summary.id} and {good[-1].id}",
                {"kept": good[-1].id},
                (
                    Choice(
                        "clear-flag",
                        f"Take the summary mark off {summary.id}; its text stays",
                        "safe",
                        (operation,),
                    ),
                ),
            )


def _misplaced(
    context: Context, message: Message, attempts: dict[str, Attempted], places: dict[str, int]
) -> Finding:
    before = [
        one for one in attempts.values() if places[one.trigger.id] < places[message.id] and not one.good
    ]
    why = "a summary answers the compaction that asked for it"
    clear = Choice(
        "clear-flag",
        "Take the summary mark off; the text stays as an ordinary answer",
        "safe",
        (edit_message(message, (Edit(("summary",), REMOVE),), why),),
    )
    choices = [clear]
    if before and finished(message):
        trigger = before[-1].trigger
        edits = (Edit(("parentID",), trigger.id),)
        choices.insert(
            0,
            Choice(
                "reparent",
                f"Let it answer {trigger.id}, the compaction before it",
                "safe",
                (edit_message(message, edits, why),),
            ),
        )
    return Finding(
        "summary-flag-wrong",
        "at-risk",
        "safe",
        (message.id,),
        (),
        f"{message.id} is marked as a summary but answers {message.parent_id or 'nothing'}, which holds no compaction",
        {"parent": message.parent_id},
        tuple(choices),
    )


_SILENT = "Nobody refuses it; the session loops, forgets or grows."

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
            "The run of failed summaries and their triggers is removed; the newest good summary always stays. Shrink the cause as well: see "
            "huge-output and media-rejected."
        ),
        order=150,
        find=find_loop,
    ),
    Rule(
        "summary-unfinished",
        "A summary without an end",
        "at-risk",
        "safe",
        what="A compaction's summary has no finish, so the client takes it for unfinished work.",
        rejected=_SILENT,
        why="The summary request failed or the client was killed during it.",
        repair="finish becomes error (and an error is noted where none is). Or trigger and summary are removed, so that the next prompt compacts afresh.",
        order=155,
        find=find_unfinished,
    ),
    Rule(
        "summary-failed-with-tail",
        "A failed summary with a kept tail",
        "at-risk",
        "safe",
        what="A compaction names the start of a kept tail, but its summary failed.",
        rejected=_SILENT,
        why="One part of the client calls the compaction incomplete, another drops everything before the tail.",
        repair="tail_start_id is removed from the trigger, so the whole history is sent again.",
        order=156,
        find=find_failed_with_tail,
    ),
    Rule(
        "summary-empty",
        "An empty summary",
        "at-risk",
        "safe",
        what="A finished summary has no text (reasoning only, or nothing).",
        rejected=_SILENT,
        why="The model answered the summary request with nothing.",
        repair="The summary is marked as failed, or removed with its trigger: the earlier history is sent again. Compare the sizes before and after.",
        order=157,
        find=find_empty_summary,
    ),
    Rule(
        "compaction-cuts-tool-pair",
        "A compaction that cuts a turn",
        "blocked",
        "safe",
        what="The kept tail begins inside a turn, between a call and what belongs to it.",
        rejected='Anthropic: "`tool_use` ids were found without `tool_result` blocks"; Gemini and Mistral: order of roles. Anthropic merges equal roles.',
        why="The tail was counted in messages or tokens, not in turns.",
        repair="tail_start_id moves to the start of the turn: the model sees a little more. Where the target accepts it, it is only offered.",
        order=158,
        find=find_cut_pair,
    ),
    Rule(
        "summary-flag-wrong",
        "A summary that answers no compaction",
        "at-risk",
        "safe",
        what="A message is marked as a summary but its parent holds no compaction, or one compaction has two finished summaries.",
        rejected=_SILENT,
        why="Client 1.18.33 stores the summary of a resumed compaction under the next prompt, so it never counts.",
        repair="The summary answers the compaction before it; where there is none, the mark is taken off. Its text is never edited.",
        order=159,
        find=find_wrong_flag,
    ),
)
