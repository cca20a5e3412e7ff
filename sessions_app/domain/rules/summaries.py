"""Summaries of compactions that failed, came out empty, or answer nothing (docs/contract/rules.md#2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sessions_app.domain.model import CompactionPart, Message
from sessions_app.domain.repair import REMOVE, Edit

from .compaction import Attempted, compactions, finished, is_summary, only_trigger, text_of
from .content import blank, holds_answer
from .context import Context
from .finding import Choice, Finding, lossy, safe
from .operations import delete_message, edit_message, edit_part
from .registration import rule

FAILED = "This compaction summary failed (marked by Suture, so that it is not taken for unfinished work)"
EMPTY = "This compaction summary is empty (marked by Suture, so that the earlier history is sent again)"


def _each_summary(context: Context) -> Iterator[tuple[Attempted, Message]]:
    for attempt in compactions(context):
        for summary in attempt.summaries:
            yield attempt, summary


def _remove_both(label: str, summary: Message, trigger: Message, why: str) -> Choice:
    return lossy("remove", label, delete_message(summary, why), delete_message(trigger, why))


def _noted_error(words: str) -> Edit:
    return Edit(("error",), {"name": "UnknownError", "data": {"message": words}})


@rule("summary-unfinished", severity="at-risk", safety="safe", live=True, needs="compaction")
def find_unfinished(context: Context) -> Iterator[Finding]:
    """A summary without finish: the client takes its compaction for unfinished work again and again."""
    for attempt, summary in _each_summary(context):
        running = summary.error is None and summary.completed_at is None
        if summary.data.get("finish") or (running and attempt.good):
            continue
        edits = [Edit(("finish",), "error")]
        if summary.error is None:
            edits.append(_noted_error(FAILED))
        why = "it is over, and it failed"
        afresh = "Remove the trigger and the failed summary, so that the next prompt can compact afresh"
        finish = safe("finish", "Set finish to error", edit_message(summary, edits, why))
        remove = _remove_both(afresh, summary, attempt.trigger, why)
        half = not blank(text_of(summary)) and not _depended_on(context, attempt, summary)
        yield context.finding(
            f"The summary {summary.id} {'failed' if summary.error else 'was cut off'} and has no finish, so the"
            " compaction starts again",
            *((replace(remove, safety="safe"), finish) if half else (finish, remove)),
            messages=[summary, attempt.trigger],
            details={"trigger": attempt.trigger.id},
        )


def _depended_on(context: Context, attempt: Attempted, summary: Message) -> bool:
    """Something needs the half summary or its trigger: an answer that was given with them in view, or what points at
    one of them. Where nothing does, they can go: all that they sum up is stored and sent, and a half summary that stays
    is read as history (docs/contract/rules.md#summary-unfinished)."""
    pair = {summary.id, attempt.trigger.id}
    later = context.messages[context.places[summary.id] + 1 :]
    tails = {part.tail_start_id for one in context.messages for part in one.parts if isinstance(part, CompactionPart)}
    return (
        not only_trigger(attempt.trigger)
        or any(one.is_assistant and not is_summary(one) and holds_answer(one) for one in later)
        or any(one.parent_id in pair and one is not summary for one in context.messages)
        or not pair.isdisjoint(tails)
        or context.revert.get("messageID") in pair
    )


@rule("summary-failed-with-tail", severity="at-risk", safety="safe", needs="compaction")
def find_failed_with_tail(context: Context) -> Iterator[Finding]:
    """A kept tail whose summary failed: one half of the client drops what stands before it, the other starts anew."""
    why = "its summary failed, so nothing may be dropped before the tail"
    for attempt in compactions(context):
        if attempt.part.tail_start_id is not None and attempt.failed:
            drop = edit_part(attempt.part, (Edit(("tail_start_id",), REMOVE),), why)
            yield context.finding(
                f"The compaction {attempt.trigger.id} keeps a tail but its summary failed: everything before the tail"
                " is left out silently",
                safe("drop-tail", "Remove tail_start_id from the trigger", drop),
                messages=[attempt.trigger, attempt.summaries[-1]],
                parts=[attempt.part],
                details={"tail_start_id": attempt.part.tail_start_id},
            )


@rule("summary-empty", severity="at-risk", safety="safe", needs="compaction")
def find_empty_summary(context: Context) -> Iterator[Finding]:
    """A finished summary that says nothing, so that the whole history before it is lost to the model."""
    why = "an empty summary hides the whole history"
    for attempt, summary in _each_summary(context):
        if finished(summary) and blank(text_of(summary)) and not any(summary.tools()):
            fail = edit_message(summary, (_noted_error(EMPTY),), why)
            yield context.finding(
                f"The summary {summary.id} has no text, so the earlier history is lost to the model",
                safe("fail", "Mark the summary as failed: the earlier history is sent again", fail),
                _remove_both("Remove the trigger and the empty summary", summary, attempt.trigger, why),
                messages=[summary, attempt.trigger],
                details={"trigger": attempt.trigger.id},
            )


@rule("summary-flag-wrong", severity="at-risk", safety="safe", needs="compaction summary")
def find_wrong_flag(context: Context) -> Iterator[Finding]:
    """Summaries that do not answer a compaction, and two finished summaries of one compaction."""
    if context.v2:
        return
    attempts = {attempt.trigger.id: attempt for attempt in compactions(context)}
    for message in context.messages:
        if is_summary(message) and message.parent_id not in attempts and message.error is None:
            yield _misplaced(context, message, attempts)
    for attempt in attempts.values():
        good = [summary for summary in attempt.summaries if finished(summary)]
        for summary in good[:-1]:
            newest = good[-1]
            why = f"{newest.id} is the newer summary of the same compaction"
            yield context.finding(
                f"{attempt.trigger.id} has two finished summaries, {summary.id} and {newest.id}",
                _unmark(summary, f"Take the summary mark off {summary.id}; its text stays", why),
                messages=[summary, attempt.trigger],
                details={"kept": newest.id},
            )


def _unmark(summary: Message, label: str, why: str) -> Choice:
    return safe("clear-flag", label, edit_message(summary, (Edit(("summary",), REMOVE),), why))


def _misplaced(context: Context, message: Message, attempts: dict[str, Attempted]) -> Finding:
    places = context.places
    before = [one for one in attempts.values() if places[one.trigger.id] < places[message.id] and not one.good]
    why = "a summary answers the compaction that asked for it"
    choices = [_unmark(message, "Take the summary mark off; the text stays as an ordinary answer", why)]
    if before and finished(message):
        trigger = before[-1].trigger.id
        answer = edit_message(message, (Edit(("parentID",), trigger),), why)
        choices.insert(0, safe("reparent", f"Let it answer {trigger}, the compaction before it", answer))
    return context.finding(
        f"{message.id} is marked as a summary but answers {message.parent_id or 'nothing'}, which holds no compaction",
        *choices,
        messages=[message],
        details={"parent": message.parent_id},
    )
