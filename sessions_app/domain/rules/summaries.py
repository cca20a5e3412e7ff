"""Summaries of compactions that failed, came out empty, or answer nothing (rules 2.5)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import Message
from sessions_app.domain.repair import REMOVE, Edit

from .base import Choice, Context, Finding, Rule
from .compaction import Attempted, compactions, finished, is_summary, text_of
from .content import blank
from .ops import delete_message, edit_message, edit_part

FAILED = "This compaction summary failed (marked by Suture, so that it is not taken for unfinished work)"
EMPTY = "This compaction summary is empty (marked by Suture, so that the earlier history is sent again)"


def find_unfinished(context: Context) -> Iterator[Finding]:
    """A summary without finish: the client takes its compaction for unfinished work again and again."""
    for attempt in compactions(context):
        for summary in attempt.summaries:
            if summary.data.get("finish") or (summary.error is None and summary.completed_at is None and attempt.good):
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
                f"The summary {summary.id} {'failed' if summary.error else 'was cut off'} and has no finish, so the"
                " compaction starts again",
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
            f"The compaction {attempt.trigger.id} keeps a tail but its summary failed: everything before the tail is"
            " left out silently",
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


def _misplaced(context: Context, message: Message, attempts: dict[str, Attempted], places: dict[str, int]) -> Finding:
    before = [one for one in attempts.values() if places[one.trigger.id] < places[message.id] and not one.good]
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
        "summary-unfinished",
        "A summary without an end",
        "at-risk",
        "safe",
        what="A compaction's summary has no finish, so the client takes it for unfinished work.",
        rejected=_SILENT,
        why="The summary request failed or the client was killed during it.",
        repair=(
            "finish becomes error (and an error is noted where none is). Or trigger and summary are removed, so that"
            " the next prompt compacts afresh."
        ),
        order=155,
        find=find_unfinished,
        live=True,
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
        repair=(
            "The summary is marked as failed, or removed with its trigger: the earlier history is sent again. Compare"
            " the sizes before and after."
        ),
        order=157,
        find=find_empty_summary,
    ),
    Rule(
        "summary-flag-wrong",
        "A summary that answers no compaction",
        "at-risk",
        "safe",
        what=(
            "A message is marked as a summary but its parent holds no compaction, or one compaction has two finished"
            " summaries."
        ),
        rejected=_SILENT,
        why="Client 1.18.33 stores the summary of a resumed compaction under the next prompt, so it never counts.",
        repair=(
            "The summary answers the compaction before it; where there is none, the mark is taken off. Its text is"
            " never edited."
        ),
        order=159,
        find=find_wrong_flag,
    ),
)
